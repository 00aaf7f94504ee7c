package main

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	phasePending      = "Pending"
	phaseProgressing  = "Progressing"
	phaseRunning      = "Running"
	phaseDegraded     = "Degraded"
	phaseScaledToZero = "ScaledToZero"
	phasePaused       = "Paused"
)

// judgement is what a look at the children comes to.
type judgement struct {
	phase, reason, message string
	ready, stalled         bool
}

// judge says where the application stands. live is nil while there is no Deployment; trouble is why one could not be
// made or what ails a pod, empty when nothing is known.
func judge(app *MyApp, live *appsv1.Deployment, trouble string) judgement {
	switch {
	case app.Spec.Paused:
		return judgement{phase: phasePaused, reason: "Paused", message: "spec.paused is true: nothing is changed"}
	case live == nil && trouble != "":
		return judgement{phase: phasePending, reason: "Blocked", message: trouble, stalled: true}
	case live == nil:
		return judgement{phase: phasePending, reason: "Creating", message: "the Deployment is being created"}
	}
	want, s := replicasOf(live), &live.Status
	counts := fmt.Sprintf("%d of %d pods are ready", s.ReadyReplicas, want)
	// A Deployment that has asked for no pods since it was made has none, whether its controller has looked or not.
	untouched := live.Generation == 1 && want == 0
	current := untouched || s.ObservedGeneration >= live.Generation
	if current && s.Replicas == want && s.UpdatedReplicas == want && s.ReadyReplicas == want {
		if want == 0 {
			return judgement{phase: phaseScaledToZero, reason: "ScaledToZero", message: "scaled to zero: no pods are requested, and none run", ready: true}
		}
		return judgement{phase: phaseRunning, reason: "Running", message: counts, ready: true}
	}
	if c := find(live, appsv1.DeploymentReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		trouble = c.Message
	}
	if c := find(live, appsv1.DeploymentProgressing); trouble == "" && c != nil && c.Status == corev1.ConditionFalse {
		trouble = c.Message
	}
	if current && trouble != "" {
		return judgement{phase: phaseDegraded, reason: "PodsFailing", message: counts + "; " + trouble, stalled: true}
	}
	return judgement{phase: phaseProgressing, reason: "Progressing", message: counts}
}

// statusOf is the status that should stand, with times kept where nothing changed.
func statusOf(app *MyApp, live *appsv1.Deployment, j judgement, managedBy string) MyAppStatus {
	status := app.Status
	status.Conditions = slices.Clone(app.Status.Conditions)
	status.Phase = j.phase
	status.ObservedGeneration = app.Generation
	status.ManagedBy = managedBy
	status.Selector = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selectorLabels(app)})
	if live != nil {
		status.Replicas = live.Status.Replicas
		status.ReadyReplicas = live.Status.ReadyReplicas
		status.UpdatedReplicas = live.Status.UpdatedReplicas
		status.Ready = fmt.Sprintf("%d/%d", live.Status.ReadyReplicas, replicasOf(live))
		if j.ready {
			status.Image = live.Spec.Template.Spec.Containers[0].Image
		}
	}
	set := func(kind string, holds bool) {
		state := metav1.ConditionFalse
		if holds {
			state = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: state, ObservedGeneration: app.Generation, Reason: j.reason, Message: j.message,
		})
	}
	present := func(kind string, holds bool) {
		if holds {
			set(kind, true)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	set("Ready", j.ready)
	present("Reconciling", j.phase == phaseProgressing || j.phase == phasePending && !j.stalled)
	present("Stalled", j.stalled)
	return status
}

// rideAlong is how long a change of replicas or updatedReplicas alone is held back while work is under way: the next
// change that people wait for brings it along. Ours does the same, and it saves a third of the status writes.
const rideAlong = 10 * time.Second

// held says for how long to hold the new status back; 0 means that it is to be written.
func held(before, after *MyAppStatus, now time.Time) time.Duration {
	working := meta.FindStatusCondition(before.Conditions, "Reconciling")
	if working == nil {
		return 0
	}
	minor := *after
	minor.Replicas, minor.UpdatedReplicas = before.Replicas, before.UpdatedReplicas
	if !equality.Semantic.DeepEqual(minor, *before) {
		return 0
	}
	return max(0, rideAlong-now.Sub(working.LastTransitionTime.Time))
}

func replicasOf(live *appsv1.Deployment) int32 {
	if live.Spec.Replicas == nil {
		return 1
	}
	return *live.Spec.Replicas
}

func find(live *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range live.Status.Conditions {
		if live.Status.Conditions[i].Type == kind {
			return &live.Status.Conditions[i]
		}
	}
	return nil
}

// ailment is why a pod's container does not run, empty when it does or nobody knows yet.
func ailment(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError":
			return w.Reason + ": " + w.Message
		}
	}
	return ""
}
