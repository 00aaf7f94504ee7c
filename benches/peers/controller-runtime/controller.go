package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	fieldManager  = "myapp-controller-runtime"
	instanceIndex = "instance"

	// patience is how long a new Deployment may go unobserved by its controller before status says so. Almost all are
	// observed sooner, and then one status write is enough instead of two.
	patience = 30 * time.Second
)

type reconciler struct {
	client.Client
	live      client.Reader
	managedBy string
}

func (r *reconciler) setup(mgr ctrl.Manager, options ctrlOptions) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("myapp").
		For(&MyApp{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(deploymentNews())).
		WithOptions(options)
	b = b.Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(instanceOf), builder.WithPredicates(podNews()))
	return b.Complete(r)
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var app MyApp
	if err := r.Get(ctx, req.NamespacedName, &app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector follows the owner references
	}
	live, created, failure := r.ensureDeployment(ctx, &app)
	if conflicted(failure) {
		return ctrl.Result{RequeueAfter: time.Second}, nil // the cache is behind; its next event usually comes first
	}
	if created {
		return ctrl.Result{RequeueAfter: patience}, nil
	}
	var trouble string
	if failure != nil {
		trouble = failure.Error()
	} else if live != nil {
		if left := patience - time.Since(live.CreationTimestamp.Time); live.Status.ObservedGeneration == 0 && left > 0 {
			return ctrl.Result{RequeueAfter: left}, nil
		}
		var err error
		if trouble, err = r.podTrouble(ctx, &app, live); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.writeStatus(ctx, &app, live, judge(&app, live, trouble)); err != nil {
		if conflicted(err) {
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
		return ctrl.Result{}, err
	}
	if apierrors.IsInvalid(failure) {
		return ctrl.Result{}, reconcile.TerminalError(failure) // only an edit can help
	}
	return ctrl.Result{}, failure
}

// ensureDeployment makes the Deployment what the spec asks for. It costs no request when it already is.
func (r *reconciler) ensureDeployment(ctx context.Context, app *MyApp) (live *appsv1.Deployment, created bool, err error) {
	cached := &appsv1.Deployment{}
	err = r.Get(ctx, client.ObjectKeyFromObject(app), cached)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, false, err
	}
	if missing {
		cached = nil
	}
	if app.Spec.Paused {
		return cached, false, nil
	}
	want, err := renderDeployment(app)
	if err != nil {
		return cached, false, err
	}
	if missing {
		// Create and not apply: it cannot take over what the selected cache does not show.
		err = r.Create(ctx, want, client.FieldOwner(fieldManager))
		if apierrors.IsAlreadyExists(err) {
			return nil, false, r.whose(ctx, app)
		}
		return nil, err == nil, err
	}
	if !metav1.IsControlledBy(cached, app) {
		return nil, false, r.whose(ctx, app)
	}
	if upToDate(want, cached) {
		return cached, false, nil
	}
	next := merged(want, cached)
	if err := r.Update(ctx, next, client.FieldOwner(fieldManager)); err != nil {
		return cached, false, err
	}
	return next, false, nil
}

// whose asks the API server about a Deployment that is in the way: it may be ours, only not in the cache yet.
func (r *reconciler) whose(ctx context.Context, app *MyApp) error {
	var found appsv1.Deployment
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(app), &found); err != nil {
		return err
	}
	if metav1.IsControlledBy(&found, app) && found.Labels[managedByLabel] == managedByValue {
		return apierrors.NewConflict(appsv1.Resource("deployments"), app.Name, fmt.Errorf("not in the cache yet"))
	}
	return fmt.Errorf("a Deployment %s that is not this MyApp's is in the way", app.Name)
}

// conflicted says that the cache was behind, which is nobody's failure.
func conflicted(err error) bool { return apierrors.IsConflict(err) }

func (r *reconciler) podTrouble(ctx context.Context, app *MyApp, live *appsv1.Deployment) (string, error) {
	if live.Status.ReadyReplicas >= replicasOf(live) && live.Status.UpdatedReplicas >= replicasOf(live) {
		return "", nil
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(app.Namespace), client.MatchingFields{instanceIndex: app.Name}); err != nil {
		return "", err
	}
	for i := range pods.Items {
		if trouble := ailment(&pods.Items[i]); trouble != "" {
			return trouble, nil
		}
	}
	return "", nil
}

func (r *reconciler) writeStatus(ctx context.Context, app *MyApp, live *appsv1.Deployment, j judgement) error {
	status := statusOf(app, live, j, r.managedBy)
	if equality.Semantic.DeepEqual(status, app.Status) {
		return nil
	}
	app.Status = status
	return r.Status().Update(ctx, app, client.FieldOwner(fieldManager))
}

// instanceOf maps a pod to its MyApp by label: the owner reference names a ReplicaSet, which nobody watches.
func instanceOf(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[instanceLabel]}}}
}

// deploymentNews lets through only what the reconciler would act on: its own create, and annotations that the
// Deployment controller keeps, tell it nothing.
func deploymentNews() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			d := e.Object.(*appsv1.Deployment)
			return d.Status.ObservedGeneration >= d.Generation
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*appsv1.Deployment), e.ObjectNew.(*appsv1.Deployment)
			return before.UID != after.UID || before.Generation != after.Generation ||
				before.Annotations[hashKey] != after.Annotations[hashKey] ||
				!equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
				!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
				essence(before) != essence(after)
		},
	}
}

// essence is what judge reads of a Deployment's status.
func essence(d *appsv1.Deployment) [8]any {
	s := &d.Status
	state := func(kind appsv1.DeploymentConditionType) (corev1.ConditionStatus, string) {
		if c := find(d, kind); c != nil && (kind == appsv1.DeploymentReplicaFailure || c.Status == corev1.ConditionFalse) {
			return c.Status, c.Message
		}
		return "", ""
	}
	failure, why := state(appsv1.DeploymentReplicaFailure)
	progressing, _ := state(appsv1.DeploymentProgressing)
	return [8]any{s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, s.AvailableReplicas, failure, why, progressing}
}

// podNews lets through only a change of what ails a pod: counts come with the Deployment.
func podNews() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ailment(e.Object.(*corev1.Pod)) != "" },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ailment(e.ObjectOld.(*corev1.Pod)) != ailment(e.ObjectNew.(*corev1.Pod))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
