package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	annotationProvisioner = "volume.kubernetes.io/storage-provisioner"
	annotationNode        = "volume.kubernetes.io/selected-node"
)

func class(binding storage.VolumeBindingMode) *storage.StorageClass {
	return &storage.StorageClass{
		ObjectMeta: meta.ObjectMeta{Name: strings.ToLower(string(binding))}, Provisioner: name, VolumeBindingMode: &binding,
	}
}

// of is a claim as Kubernetes' controller hands it to a provisioner.
func of(class *storage.StorageClass) *core.PersistentVolumeClaim {
	claim := claim("data")
	claim.Annotations[annotationProvisioner] = name
	claim.Spec.StorageClassName = &class.Name
	return claim
}

// started runs the controller against an API server in memory.
func started(t *testing.T, objects ...runtime.Object) (*fake.Clientset, *folders) {
	t.Helper()
	client := fake.NewClientset(objects...)
	made := &folders{node: "one", root: t.TempDir(), fileSystems: sizes{}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		newController(ctx, client, made).Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() { stop(); <-ended })
	return client, made
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if so() {
			return
		}
	}
	t.Fatalf("%s: not within 20 s", what)
}

func volumeOf(t *testing.T, client *fake.Clientset) *core.PersistentVolume {
	t.Helper()
	volume, err := client.CoreV1().PersistentVolumes().Get(context.Background(), "pvc-1234", meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	return volume
}

func TestAClaimOfAnImmediateClassGetsItsVolumeAtOnce(t *testing.T) {
	class := class(storage.VolumeBindingImmediate)
	client, _ := started(t, class, of(class))
	eventually(t, "a volume", func() bool { return volumeOf(t, client) != nil })
	volume := volumeOf(t, client)
	switch {
	case nodeOf(volume) != "one":
		t.Errorf("on %s", nodeOf(volume))
	case volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.Name != "data" || volume.Spec.ClaimRef.UID != "1234":
		t.Errorf("%+v", volume.Spec.ClaimRef)
	case volume.Annotations["pv.kubernetes.io/provisioned-by"] != name || volume.Spec.StorageClassName != class.Name:
		t.Errorf("%v, %s", volume.Annotations, volume.Spec.StorageClassName)
	}
}

func TestAClaimThatWaitsForAPodGetsItsVolumeOnThePodsNode(t *testing.T) {
	class := class(storage.VolumeBindingWaitForFirstConsumer)
	// The other PVC shows that the controller has processed both.
	first := of(class)
	other := of(class)
	other.Name, other.UID = "other", "5678"
	other.Annotations[annotationNode] = "three"
	client, _ := started(t, class, first, other)
	volumes := client.CoreV1().PersistentVolumes()
	eventually(t, "the other's volume", func() bool {
		volume, err := volumes.Get(context.Background(), "pvc-5678", meta.GetOptions{})
		return err == nil && nodeOf(volume) == "three"
	})
	if volume := volumeOf(t, client); volume != nil {
		t.Fatalf("a claim that no pod uses has the volume %s", volume.Name)
	}
	selected := first.DeepCopy()
	selected.Annotations[annotationNode] = "two"
	if _, err := client.CoreV1().PersistentVolumeClaims("default").Update(context.Background(), selected, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a volume on the pod's node", func() bool {
		volume := volumeOf(t, client)
		return volume != nil && nodeOf(volume) == "two"
	})
}

func TestABlockVolumeIsRefusedWithAnEvent(t *testing.T) {
	class := class(storage.VolumeBindingImmediate)
	claim, block := of(class), core.PersistentVolumeBlock
	claim.Spec.VolumeMode = &block
	client, made := started(t, class, claim)
	eventually(t, "an event", func() bool {
		events, err := client.CoreV1().Events("default").List(context.Background(), meta.ListOptions{})
		return err == nil && len(events.Items) > 0 && strings.Contains(events.Items[0].Message, "block volume")
	})
	entries, err := os.ReadDir(made.root)
	if err != nil || len(entries) != 0 || volumeOf(t, client) != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestAReleasedVolumeGoesWithItsFolderAndARetainedOneStays(t *testing.T) {
	for policy, goes := range map[core.PersistentVolumeReclaimPolicy]bool{
		core.PersistentVolumeReclaimDelete: true, core.PersistentVolumeReclaimRetain: false,
	} {
		class := class(storage.VolumeBindingImmediate)
		class.ReclaimPolicy = &policy
		client, made := started(t, class, of(class))
		eventually(t, "a volume", func() bool { return volumeOf(t, client) != nil })
		volume := volumeOf(t, client)
		volume.Status.Phase = core.VolumeReleased
		ctx := context.Background()
		if err := client.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "data", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().PersistentVolumes().Update(ctx, volume, meta.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if goes {
			eventually(t, "no volume", func() bool { return volumeOf(t, client) == nil })
		} else {
			// Longer than the other takes.
			time.Sleep(500 * time.Millisecond)
		}
		_, err := os.Stat(made.root + "/pvc-1234")
		if os.IsNotExist(err) != goes || (volumeOf(t, client) == nil) != goes {
			t.Errorf("%s: %v", policy, err)
		}
	}
}
