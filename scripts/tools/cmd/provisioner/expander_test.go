package main

import (
	"context"
	"errors"
	"testing"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// unwilling fails to grow a file system the first time.
type unwilling struct {
	sizes
	tries *int
}

func (u unwilling) grow(path string, size int64) error {
	if *u.tries++; *u.tries == 1 {
		return errors.New("not now")
	}
	return u.sizes.grow(path, size)
}

// bound is a claim that asks for 30Mi and has 20Mi of a volume.
func bound() (*core.PersistentVolumeClaim, *core.PersistentVolume) {
	claim, twenty := claim("data"), core.ResourceList{core.ResourceStorage: resource.MustParse("20Mi")}
	claim.Spec.VolumeName = "pvc-1234"
	claim.Spec.Resources.Requests[core.ResourceStorage] = resource.MustParse("30Mi")
	claim.Status = core.PersistentVolumeClaimStatus{Phase: core.ClaimBound, Capacity: twenty}
	volume := &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: "pvc-1234", Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": name}},
		Spec:       core.PersistentVolumeSpec{Capacity: twenty, StorageClassName: string(storage.VolumeBindingImmediate)},
	}
	return claim, volume
}

func expanding(t *testing.T, claim *core.PersistentVolumeClaim, volume *core.PersistentVolume) (*fake.Clientset, *folders) {
	t.Helper()
	client := fake.NewClientset(claim, volume)
	made := &folders{node: "one", root: "/volumes", fileSystems: unwilling{sizes{}, new(int)}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { newExpander(client, made).run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	return client, made
}

func TestAVolumeGrowsWithItsClaimAndIsTriedAgain(t *testing.T) {
	claim, volume := bound()
	client, made := expanding(t, claim, volume)
	eventually(t, "a larger claim", func() bool {
		claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(context.Background(), "data", meta.GetOptions{})
		return err == nil && claim.Status.Capacity.Storage().String() == "30Mi"
	})
	if got := volumeOf(t, client).Spec.Capacity.Storage().String(); got != "30Mi" {
		t.Errorf("the volume has %s", got)
	}
	if size := made.fileSystems.(unwilling).sizes["/volumes/pvc-1234"]; size != 30<<20 {
		t.Errorf("its file system has %d bytes", size)
	}
}

func TestOnlyBoundClaimsThatAskForMoreGrow(t *testing.T) {
	claim, _ := bound()
	if !asksForMore(claim) {
		t.Error("it asks for more")
	}
	claim.Status.Phase = core.ClaimPending
	if asksForMore(claim) {
		t.Error("it has no volume yet")
	}
	claim.Status.Phase, claim.Status.Capacity = core.ClaimBound, claim.Spec.Resources.Requests
	if asksForMore(claim) {
		t.Error("it has what it asks for")
	}
}

func TestAVolumeOfAnotherProvisionerIsLeftAlone(t *testing.T) {
	claim, volume := bound()
	volume.Annotations["pv.kubernetes.io/provisioned-by"] = "another"
	client := fake.NewClientset(claim, volume)
	tries := new(int)
	e := newExpander(client, &folders{root: "/volumes", fileSystems: unwilling{sizes{}, tries}})
	if err := e.expand(context.Background(), claim); err != nil || *tries != 0 {
		t.Errorf("%v after %d tries", err, *tries)
	}
}
