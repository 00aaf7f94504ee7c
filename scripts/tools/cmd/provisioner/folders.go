package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// folders provisions a directory as a volume. Block volumes are not offered: the library rejects them, as SupportsBlock is
// missing.
type folders struct {
	// node is where a volume is if the scheduler has not selected a node. All nodes see the same folders and mounts.
	node string
	root string
	fileSystems
}

// fileSystems creates and removes the file systems of volumes of limited size.
type fileSystems interface {
	// make mounts a file system of that kind and size at a folder. What an earlier try left is taken up.
	make(path, kind string, size int64) error
	// grow expands an xfs while it is in use, and does nothing if it is large enough.
	grow(path string, size int64) error
	// remove undoes that, and does nothing where there is none.
	remove(path string) error
}

func (f *folders) Provision(_ context.Context, o controller.ProvisionOptions) (*core.PersistentVolume, controller.ProvisioningState, error) {
	path := filepath.Join(f.root, o.PVName)
	size := o.PVC.Spec.Resources.Requests[core.ResourceStorage]
	if err := f.makeFolder(path, fileSystem(o.StorageClass.Parameters), size.Value()); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	node := o.SelectedNodeName
	if node == "" {
		node = f.node
	}
	policy := core.PersistentVolumeReclaimDelete
	if o.StorageClass.ReclaimPolicy != nil {
		policy = *o.StorageClass.ReclaimPolicy
	}
	log.Printf("created %s on node %s for PVC %s/%s", o.PVName, node, o.PVC.Namespace, o.PVC.Name)
	return &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: o.PVName},
		Spec: core.PersistentVolumeSpec{
			AccessModes:                   o.PVC.Spec.AccessModes,
			Capacity:                      core.ResourceList{core.ResourceStorage: size},
			PersistentVolumeReclaimPolicy: policy,
			MountOptions:                  o.StorageClass.MountOptions,
			PersistentVolumeSource:        core.PersistentVolumeSource{Local: &core.LocalVolumeSource{Path: path}},
			NodeAffinity:                  onlyOn(node),
		},
	}, controller.ProvisioningFinished, nil
}

// fileSystem is the kind of file system that a class gives its volumes, and empty where sizes are not true.
func fileSystem(parameters map[string]string) string {
	kind := parameters["fileSystem"]
	switch {
	case parameters["size"] != "true":
		return ""
	case kind == "":
		return "ext4"
	}
	return kind
}

// makeFolder gives the folder a file system of its own where the class names a kind of it.
func (f *folders) makeFolder(path, kind string, size int64) error {
	if err := os.Mkdir(path, 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	if kind != "" {
		if err := f.make(path, kind, size); err != nil {
			return err
		}
	}
	// Whatever the umask is, and on the file system if one is mounted there.
	return os.Chmod(path, 0o777)
}

func onlyOn(node string) *core.VolumeNodeAffinity {
	return &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{{
		MatchExpressions: []core.NodeSelectorRequirement{{Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{node}}},
	}}}}
}

// Delete only ever removes a directory that this program created, whatever the object says by now.
func (f *folders) Delete(_ context.Context, volume *core.PersistentVolume) error {
	path := filepath.Join(f.root, volume.Name)
	if volume.Spec.Local == nil || filepath.Clean(volume.Spec.Local.Path) != path {
		return fmt.Errorf("the path of %s is not %s: left alone", volume.Name, path)
	}
	if err := f.remove(path); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	log.Printf("deleted %s", volume.Name)
	return nil
}
