package main

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

func sample() *MyApp {
	return &MyApp{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1", Generation: 1},
		Spec:       MyAppSpec{Image: "nginx:1.25", Replicas: ptr.To[int32](2), Port: ptr.To[int32](80)},
	}
}

func rendered(t *testing.T, app *MyApp) *appsv1.Deployment {
	t.Helper()
	deployment, err := renderDeployment(app)
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}

func TestRenderedDeploymentSelectsItsOwnPods(t *testing.T) {
	app := sample()
	deployment := rendered(t, app)
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	if !selector.Matches(labels.Set(deployment.Spec.Template.Labels)) {
		t.Errorf("selector %s, pod labels %v", selector, deployment.Spec.Template.Labels)
	}
	if !metav1.IsControlledBy(deployment, app) {
		t.Error("the MyApp is not the controller")
	}
	probe := deployment.Spec.Template.Spec.Containers[0].ReadinessProbe
	if probe == nil || probe.TCPSocket.Port.IntVal != 80 {
		t.Errorf("a port without probes gets a readiness probe, got %v", probe)
	}
}

func TestUpToDateIgnoresDefaultsAndSeesDrift(t *testing.T) {
	want := rendered(t, sample())
	defaulted := want.DeepCopy()
	defaulted.Spec.RevisionHistoryLimit = ptr.To[int32](10)
	defaulted.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	if !upToDate(want, defaulted) {
		t.Error("what the server filled in is taken for drift")
	}
	drifts := map[string]func(*appsv1.Deployment){
		"image":     func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "nginx:1.26" },
		"replicas":  func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](5) },
		"label":     func(d *appsv1.Deployment) { d.Labels[nameLabel] = "other" },
		"container": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = nil },
		"hash":      func(d *appsv1.Deployment) { d.Annotations[hashKey] = "" },
	}
	for name, drift := range drifts {
		live := defaulted.DeepCopy()
		drift(live)
		if upToDate(want, live) {
			t.Errorf("drift of the %s goes unnoticed", name)
		}
		if !upToDate(want, merged(want, live)) {
			t.Errorf("drift of the %s remains after a merge", name)
		}
	}
}

func TestMergedKeepsWhatOthersWrote(t *testing.T) {
	app := sample()
	app.Spec.Replicas = nil
	live := rendered(t, app)
	live.Labels["team"] = "shop"
	live.Annotations["deployment.kubernetes.io/revision"] = "3"
	live.Spec.Replicas = ptr.To[int32](7)
	app.Spec.Image = "nginx:1.26"
	next := merged(rendered(t, app), live)
	if next.Labels["team"] != "shop" || next.Annotations["deployment.kubernetes.io/revision"] != "3" {
		t.Errorf("metadata of others is gone: %v %v", next.Labels, next.Annotations)
	}
	if *next.Spec.Replicas != 7 {
		t.Errorf("an autoscaler's replicas became %d", *next.Spec.Replicas)
	}
	if image := next.Spec.Template.Spec.Containers[0].Image; image != "nginx:1.26" {
		t.Errorf("image %s", image)
	}
}
