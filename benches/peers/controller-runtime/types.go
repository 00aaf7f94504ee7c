package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// MyApp has the fields of the CRD in config/crd/bases. The CRD allows less than corev1's types do, so those serve here.
type MyApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MyAppSpec   `json:"spec,omitempty"`
	Status MyAppStatus `json:"status,omitempty"`
}

type MyAppSpec struct {
	Image     string                      `json:"image"`
	Replicas  *int32                      `json:"replicas,omitempty"`
	Port      *int32                      `json:"port,omitempty"`
	Env       []corev1.EnvVar             `json:"env,omitempty"`
	EnvFrom   []corev1.EnvFromSource      `json:"envFrom,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
	Probes    Probes                      `json:"probes,omitzero"`
	Paused    bool                        `json:"paused,omitempty"`
	Security  string                      `json:"security,omitempty"`
}

type Probes struct {
	Startup   *corev1.Probe `json:"startup,omitempty"`
	Readiness *corev1.Probe `json:"readiness,omitempty"`
	Liveness  *corev1.Probe `json:"liveness,omitempty"`
}

type MyAppStatus struct {
	Phase              string             `json:"phase,omitempty"`
	Ready              string             `json:"ready,omitempty"`
	Replicas           int32              `json:"replicas"`
	ReadyReplicas      int32              `json:"readyReplicas"`
	UpdatedReplicas    int32              `json:"updatedReplicas"`
	Image              string             `json:"image,omitempty"`
	Selector           string             `json:"selector,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration"`
	ManagedBy          string             `json:"managedBy,omitempty"`
	Conditions         []metav1.Condition `json:"conditions"`
}

type MyAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MyApp `json:"items"`
}

func addToScheme(s *runtime.Scheme) {
	s.AddKnownTypes(groupVersion, &MyApp{}, &MyAppList{})
	metav1.AddToGroupVersion(s, groupVersion)
}

func (in *MyApp) deepCopy() MyApp {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	spec := &out.Spec
	spec.Replicas = copyOf(in.Spec.Replicas)
	spec.Port = copyOf(in.Spec.Port)
	spec.Env = slices.Clone(in.Spec.Env)
	for i := range spec.Env {
		in.Spec.Env[i].DeepCopyInto(&spec.Env[i])
	}
	spec.EnvFrom = slices.Clone(in.Spec.EnvFrom)
	for i := range spec.EnvFrom {
		in.Spec.EnvFrom[i].DeepCopyInto(&spec.EnvFrom[i])
	}
	in.Spec.Resources.DeepCopyInto(&spec.Resources)
	spec.Probes = Probes{
		Startup:   in.Spec.Probes.Startup.DeepCopy(),
		Readiness: in.Spec.Probes.Readiness.DeepCopy(),
		Liveness:  in.Spec.Probes.Liveness.DeepCopy(),
	}
	// A Condition holds no pointers but those of strings and a time, which nothing writes through.
	out.Status.Conditions = slices.Clone(in.Status.Conditions)
	return out
}

func copyOf[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

// DeepCopyObject is what runtime.Object asks for.
func (in *MyApp) DeepCopyObject() runtime.Object {
	out := in.deepCopy()
	return &out
}

// DeepCopyObject is what runtime.Object asks for.
func (in *MyAppList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]MyApp, len(in.Items))
	for i := range in.Items {
		out.Items[i] = in.Items[i].deepCopy()
	}
	return &out
}
