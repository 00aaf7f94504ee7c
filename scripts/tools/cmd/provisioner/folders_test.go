package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// sizes notes which file systems there are.
type sizes map[string]int64

func (s sizes) make(path, _ string, size int64) error { s[path] = size; return nil }
func (s sizes) grow(path string, size int64) error    { s[path] = size; return nil }
func (s sizes) remove(path string) error              { delete(s, path); return nil }

// full has no room for a file system.
type full struct{ sizes }

func (full) make(string, string, int64) error { return errors.New("no space left on device") }

func claim(name string) *core.PersistentVolumeClaim {
	return &core.PersistentVolumeClaim{
		ObjectMeta: meta.ObjectMeta{Namespace: "default", Name: name, UID: "1234", Annotations: map[string]string{}},
		Spec: core.PersistentVolumeClaimSpec{
			AccessModes: []core.PersistentVolumeAccessMode{core.ReadWriteOncePod},
			Resources:   core.VolumeResourceRequirements{Requests: core.ResourceList{core.ResourceStorage: resource.MustParse("20Mi")}},
		},
	}
}

func asked(node string, parameters map[string]string) controller.ProvisionOptions {
	retain := core.PersistentVolumeReclaimRetain
	return controller.ProvisionOptions{
		PVName: "pvc-1234", PVC: claim("data"), SelectedNodeName: node,
		StorageClass: &storage.StorageClass{Provisioner: name, Parameters: parameters, ReclaimPolicy: &retain, MountOptions: []string{"noatime"}},
	}
}

func provision(t *testing.T, f *folders, o controller.ProvisionOptions) *core.PersistentVolume {
	t.Helper()
	volume, state, err := f.Provision(context.Background(), o)
	if err != nil || state != controller.ProvisioningFinished {
		t.Fatalf("%s: %v", state, err)
	}
	return volume
}

func nodeOf(volume *core.PersistentVolume) string {
	return strings.Join(volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values, " ")
}

func TestAVolumeIsAFolderThatEveryUserMayWrite(t *testing.T) {
	f := &folders{node: "one", root: t.TempDir(), fileSystems: sizes{}}
	volume := provision(t, f, asked("", nil))
	path := filepath.Join(f.root, "pvc-1234")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o777 {
		t.Fatalf("%v, %v", info, err)
	}
	size := volume.Spec.Capacity[core.ResourceStorage]
	switch {
	case volume.Spec.Local == nil || volume.Spec.Local.Path != path:
		t.Errorf("%+v", volume.Spec.PersistentVolumeSource)
	case size.String() != "20Mi", volume.Spec.AccessModes[0] != core.ReadWriteOncePod:
		t.Errorf("%s, %s", size.String(), volume.Spec.AccessModes)
	case volume.Spec.PersistentVolumeReclaimPolicy != core.PersistentVolumeReclaimRetain, volume.Spec.MountOptions[0] != "noatime":
		t.Errorf("%s, %s", volume.Spec.PersistentVolumeReclaimPolicy, volume.Spec.MountOptions)
	}
	// A second try after one that got no further than the folder.
	provision(t, f, asked("", nil))
	if len(f.fileSystems.(sizes)) != 0 {
		t.Error("a class that does not ask for it has true sizes")
	}
}

func TestAVolumeIsOnTheSelectedNodeOrElseOnTheDefaultOne(t *testing.T) {
	f := &folders{node: "one", root: t.TempDir(), fileSystems: sizes{}}
	if node := nodeOf(provision(t, f, asked("two", nil))); node != "two" {
		t.Errorf("selected was two, and it is on %s", node)
	}
	if node := nodeOf(provision(t, f, asked("", nil))); node != "one" {
		t.Errorf("none was selected, and it is on %s", node)
	}
}

func TestASizedClassHasAFileSystemOfThatSize(t *testing.T) {
	made := sizes{}
	f := &folders{node: "one", root: t.TempDir(), fileSystems: made}
	volume := provision(t, f, asked("", map[string]string{"size": "true"}))
	if made[volume.Spec.Local.Path] != 20<<20 {
		t.Fatalf("%v", made)
	}
	if err := f.Delete(context.Background(), volume); err != nil || len(made) != 0 {
		t.Errorf("%v, %v", err, made)
	}
	f.fileSystems = full{}
	if _, _, err := f.Provision(context.Background(), asked("", map[string]string{"size": "true"})); err == nil {
		t.Error("there is a volume without its file system")
	}
}

func TestAClassMayNameItsFileSystem(t *testing.T) {
	for _, one := range []struct{ size, kind, wanted string }{{"true", "", "ext4"}, {"true", "xfs", "xfs"}, {"", "xfs", ""}, {"", "", ""}} {
		if got := fileSystem(map[string]string{"size": one.size, "fileSystem": one.kind}); got != one.wanted {
			t.Errorf("%+v: %q", one, got)
		}
	}
}

func TestOnlyOwnDirectoriesAreDeleted(t *testing.T) {
	f := &folders{node: "one", root: t.TempDir(), fileSystems: sizes{}}
	volume := provision(t, f, asked("", nil))
	other := t.TempDir()
	for _, path := range []string{other, f.root, filepath.Join(f.root, "pvc-5678"), f.root + "/pvc-1234/../../etc", ""} {
		changed := volume.DeepCopy()
		changed.Spec.Local.Path = path
		if err := f.Delete(context.Background(), changed); err == nil || !strings.Contains(err.Error(), "left alone") {
			t.Errorf("%q: %v", path, err)
		}
	}
	changed := volume.DeepCopy()
	changed.Spec.PersistentVolumeSource = core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: other}}
	if err := f.Delete(context.Background(), changed); err == nil {
		t.Error("a volume of another kind was deleted")
	}
	for _, path := range []string{other, volume.Spec.Local.Path} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if err := f.Delete(context.Background(), volume); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(volume.Spec.Local.Path); !os.IsNotExist(err) {
		t.Errorf("its own directory is still there: %v", err)
	}
}
