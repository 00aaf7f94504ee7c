package main

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	// The same labels as ours, so that objects are of the same size; the two never meet in one cluster.
	managedByLabel = "app.kubernetes.io/managed-by"
	managedByValue = "multi-operator"
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	ownerKindLabel = "multi-operator.example.com/owner-kind"

	restartedAt = "kubectl.kubernetes.io/restartedAt"
	hashKey     = "example.com/rendered"
	container   = "app"
)

func selectorLabels(app *MyApp) map[string]string {
	return map[string]string{nameLabel: "myapp", instanceLabel: app.Name}
}

func deploymentLabels(app *MyApp) map[string]string {
	labels := selectorLabels(app)
	labels[managedByLabel] = managedByValue
	return labels
}

func podLabels(app *MyApp) map[string]string {
	labels := deploymentLabels(app)
	labels[ownerKindLabel] = "MyApp.example.com"
	return labels
}

// renderDeployment is the Deployment as the spec asks for it, the same as ours makes.
func renderDeployment(app *MyApp) (*appsv1.Deployment, error) {
	spec := &app.Spec
	c := corev1.Container{
		Name:           container,
		Image:          spec.Image,
		Env:            spec.Env,
		EnvFrom:        spec.EnvFrom,
		Resources:      spec.Resources,
		StartupProbe:   spec.Probes.Startup,
		ReadinessProbe: spec.Probes.Readiness,
		LivenessProbe:  spec.Probes.Liveness,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false),
		},
	}
	if spec.Port != nil {
		c.Ports = []corev1.ContainerPort{{ContainerPort: *spec.Port, Protocol: corev1.ProtocolTCP}}
		if spec.Probes == (Probes{}) {
			c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 5, ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(*spec.Port)},
			}}
		}
	}
	pod := corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false),
		SecurityContext: &corev1.PodSecurityContext{
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if spec.Security == "Restricted" {
		pod.SecurityContext.RunAsNonRoot = ptr.To(true)
		c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
	}
	pod.Containers = []corev1.Container{c}

	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels(app)}, Spec: pod}
	if at, ok := app.Annotations[restartedAt]; ok {
		template.Annotations = map[string]string{restartedAt: at}
	}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name:            app.Name,
			Namespace:       app.Namespace,
			Labels:          deploymentLabels(app),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(app, groupVersion.WithKind("MyApp"))},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selectorLabels(app)},
			Template: template,
		},
	}
	hash, err := hashOf(&deployment.Spec)
	if err != nil {
		return nil, err
	}
	deployment.Annotations = map[string]string{hashKey: hash}
	return deployment, nil
}

// hashOf tells a later render without a field from one that never had it, which comparing with the live object cannot.
func hashOf(spec *appsv1.DeploymentSpec) (string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	h.Write(text)
	return strconv.FormatUint(h.Sum64(), 36), nil
}

// upToDate ignores what the server or others filled in.
func upToDate(want, live *appsv1.Deployment) bool {
	return live.Annotations[hashKey] == want.Annotations[hashKey] &&
		len(live.Spec.Template.Spec.Containers) == 1 &&
		equality.Semantic.DeepDerivative(want.Labels, live.Labels) &&
		equality.Semantic.DeepDerivative(want.Spec, live.Spec)
}

// merged is the live Deployment with everything of ours put right, and others' metadata and replicas left alone.
func merged(want, live *appsv1.Deployment) *appsv1.Deployment {
	out := live.DeepCopy()
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	maps.Copy(out.Labels, want.Labels)
	maps.Copy(out.Annotations, want.Annotations)
	if want.Spec.Replicas != nil {
		out.Spec.Replicas = want.Spec.Replicas
	}
	out.Spec.Template = want.Spec.Template
	return out
}
