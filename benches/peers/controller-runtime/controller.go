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

	// soon is when a conflict is worth another try: the cache is a few milliseconds behind.
	soon = 20 * time.Millisecond
)

type reconciler struct {
	client.Client
	live      client.Reader
	managedBy string
}

func (r *reconciler) setup(mgr ctrl.Manager, options ctrlOptions) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("myapp").
		For(&MyApp{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(deploymentNews())).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(instanceOf), builder.WithPredicates(podNews())).
		WithOptions(options).
		Complete(r)
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var app MyApp
	if err := r.Get(ctx, req.NamespacedName, &app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if app.DeletionTimestamp != nil {
		return ctrl.Result{}, nil // the garbage collector follows the owner references
	}
	live, failure := r.ensureDeployment(ctx, &app)
	if apierrors.IsConflict(failure) {
		return ctrl.Result{RequeueAfter: soon}, nil // the cache is behind, which is nobody's failure
	}
	var trouble string
	if failure != nil {
		trouble = failure.Error()
	} else if live != nil {
		var err error
		if trouble, err = r.podTrouble(ctx, &app, live); err != nil {
			return ctrl.Result{}, err
		}
	}
	wait, err := r.writeStatus(ctx, &app, live, judge(&app, live, trouble))
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: soon}, nil
	case err != nil:
		return ctrl.Result{}, err
	case apierrors.IsInvalid(failure):
		return ctrl.Result{}, reconcile.TerminalError(failure) // only an edit can help
	case failure != nil:
		return ctrl.Result{}, failure
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// ensureDeployment makes the Deployment what the spec asks for. It costs no request when it already is.
func (r *reconciler) ensureDeployment(ctx context.Context, app *MyApp) (*appsv1.Deployment, error) {
	cached := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(app), cached)
	if apierrors.IsNotFound(err) {
		cached, err = nil, nil
	}
	if err != nil || app.Spec.Paused {
		return cached, err
	}
	want, err := renderDeployment(app)
	switch {
	case err != nil:
		return cached, err
	case cached == nil:
		// Create and not apply: it cannot take over what the selected cache does not show, and needs no look before.
		if err := r.Create(ctx, want, client.FieldOwner(fieldManager)); apierrors.IsAlreadyExists(err) {
			return nil, r.whose(ctx, app)
		} else if err != nil {
			return nil, err
		}
		return want, nil
	case !metav1.IsControlledBy(cached, app):
		return nil, r.whose(ctx, app)
	case upToDate(want, cached):
		return cached, nil
	}
	next := merged(want, cached)
	return next, r.Update(ctx, next, client.FieldOwner(fieldManager))
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

// writeStatus writes it if it changed, or says for how long it can wait.
func (r *reconciler) writeStatus(ctx context.Context, app *MyApp, live *appsv1.Deployment, j judgement) (time.Duration, error) {
	status := statusOf(app, live, j, r.managedBy)
	if equality.Semantic.DeepEqual(status, app.Status) {
		return 0, nil
	}
	if wait := held(&app.Status, &status, time.Now()); wait > 0 {
		return wait, nil
	}
	app.Status = status
	return 0, r.Status().Update(ctx, app, client.FieldOwner(fieldManager))
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
func essence(d *appsv1.Deployment) [7]any {
	s := &d.Status
	state := func(kind appsv1.DeploymentConditionType) (corev1.ConditionStatus, string) {
		if c := find(d, kind); c != nil && (kind == appsv1.DeploymentReplicaFailure || c.Status == corev1.ConditionFalse) {
			return c.Status, c.Message
		}
		return "", ""
	}
	failure, why := state(appsv1.DeploymentReplicaFailure)
	progressing, _ := state(appsv1.DeploymentProgressing)
	return [7]any{s.ObservedGeneration, s.Replicas, s.ReadyReplicas, s.UpdatedReplicas, failure, why, progressing}
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
