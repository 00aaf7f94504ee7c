package main

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

func ready(t *testing.T) *appsv1.Deployment {
	t.Helper()
	live := rendered(t, sample())
	live.Generation = 2
	live.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2}
	return live
}

func TestJudge(t *testing.T) {
	paused := sample()
	paused.Spec.Paused = true
	stale := ready(t)
	stale.Generation = 3
	short := ready(t)
	short.Status.ReadyReplicas = 1
	denied := short.DeepCopy()
	denied.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota",
	}}
	for name, test := range map[string]struct {
		app     *MyApp
		live    *appsv1.Deployment
		trouble string
		phase   string
		stalled bool
	}{
		"paused":                    {paused, ready(t), "", phasePaused, false},
		"not created yet":           {sample(), nil, "", phasePending, false},
		"cannot be created":         {sample(), nil, "forbidden", phasePending, true},
		"all pods ready":            {sample(), ready(t), "", phaseRunning, false},
		"controller has not looked": {sample(), stale, "", phaseProgressing, false},
		"a pod is missing":          {sample(), short, "", phaseProgressing, false},
		"a pod fails":               {sample(), short, "ImagePullBackOff", phaseDegraded, true},
		"no pod may be created":     {sample(), denied, "", phaseDegraded, true},
	} {
		got := judge(test.app, test.live, test.trouble)
		if got.phase != test.phase || got.stalled != test.stalled {
			t.Errorf("%s: phase %s, stalled %v", name, got.phase, got.stalled)
		}
	}
}

func TestStatusHasOneOfReadyReconcilingStalled(t *testing.T) {
	for name, j := range map[string]judgement{
		"Ready":       {phase: phaseRunning, reason: "Running", ready: true},
		"Reconciling": {phase: phaseProgressing, reason: "Progressing"},
		"Stalled":     {phase: phaseDegraded, reason: "PodsFailing", stalled: true},
	} {
		status := statusOf(sample(), ready(t), j, "test")
		for _, kind := range []string{"Ready", "Reconciling", "Stalled"} {
			if holds := meta.IsStatusConditionTrue(status.Conditions, kind); holds != (kind == name) {
				t.Errorf("%s: condition %s is %v", name, kind, holds)
			}
		}
	}
}

func TestCountsAloneAreHeldWhileReconciling(t *testing.T) {
	before := statusOf(sample(), ready(t), judgement{phase: phaseProgressing, reason: "Progressing"}, "test")
	counts := before
	counts.UpdatedReplicas++
	if wait := held(&before, &counts, time.Now()); wait <= 0 || wait > rideAlong {
		t.Errorf("a count alone waits for %s", wait)
	}
	phase := counts
	phase.Phase = phaseRunning
	if wait := held(&before, &phase, time.Now()); wait != 0 {
		t.Errorf("a change of phase waits for %s", wait)
	}
	if wait := held(&before, &counts, time.Now().Add(rideAlong)); wait != 0 {
		t.Errorf("a count waits for %s more after %s", wait, rideAlong)
	}
}
