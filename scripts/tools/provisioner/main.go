// Command provisioner makes volumes for the one node of a scripts/cluster cluster.
//
// A claim whose storage class names this provisioner gets a folder of its own, writable for every user (pods run as
// any user id), as a `local` volume, so that fsGroup works as it does on real disks. When the claim goes and the
// reclaim policy is Delete, the folder and the volume go too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

const (
	name                  = "multi-operator.local/folder"
	annotationProvisioner = "volume.kubernetes.io/storage-provisioner"
	annotationNode        = "volume.kubernetes.io/selected-node"
	annotationMadeBy      = "pv.kubernetes.io/provisioned-by"
)

type provisioner struct {
	client  kubernetes.Interface
	node    string
	folder  string
	claims  cache.Store
	volumes cache.Store
	classes cache.Store
	queue   workqueue.TypedRateLimitingInterface[key]
}

// key names what to look at again: a claim ("namespace/name") or a volume ("name").
type key struct{ kind, name string }

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	node := flag.String("node", "", "the name of the node that the folders are on")
	folder := flag.String("folder", "", "the folder in which volumes are made")
	flag.Parse()
	if *node == "" || *folder == "" {
		log.Fatal("--node and --folder are required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		log.Fatal(err)
	}
	// mkdir must make what it is told to make, world-writable folders included.
	syscall.Umask(0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	run(ctx, kubernetes.NewForConfigOrDie(config), *node, *folder)
}

func run(ctx context.Context, client kubernetes.Interface, node, folder string) {
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	volumes := factory.Core().V1().PersistentVolumes().Informer()
	classes := factory.Storage().V1().StorageClasses().Informer()
	p := &provisioner{
		client: client, node: node, folder: folder,
		claims: claims.GetStore(), volumes: volumes.GetStore(), classes: classes.GetStore(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[key](100*time.Millisecond, 30*time.Second)),
	}
	enqueue := func(kind string) cache.ResourceEventHandler {
		add := func(object any) {
			if name, err := cache.MetaNamespaceKeyFunc(object); err == nil {
				p.queue.Add(key{kind, name})
			}
		}
		return cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, now any) { add(now) }}
	}
	for kind, informer := range map[string]cache.SharedIndexInformer{"claim": claims, "volume": volumes} {
		if _, err := informer.AddEventHandler(enqueue(kind)); err != nil {
			log.Fatal(err)
		}
	}
	// A class that appears later than its claims has to wake them.
	_, err := classes.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
		for _, claim := range p.claims.ListKeys() {
			p.queue.Add(key{"claim", claim})
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	log.Printf("provisioning %s volumes of node %s in %s", name, node, folder)
	go func() {
		<-ctx.Done()
		p.queue.ShutDown()
	}()
	for {
		item, quit := p.queue.Get()
		if quit {
			return
		}
		if err := p.handle(ctx, item); err != nil {
			log.Printf("%s %s: %v", item.kind, item.name, err)
			p.queue.AddRateLimited(item)
		} else {
			p.queue.Forget(item)
		}
		p.queue.Done(item)
	}
}

func (p *provisioner) handle(ctx context.Context, item key) error {
	if item.kind == "claim" {
		if object, exists, _ := p.claims.GetByKey(item.name); exists {
			return p.provision(ctx, object.(*core.PersistentVolumeClaim))
		}
		return nil
	}
	if object, exists, _ := p.volumes.GetByKey(item.name); exists {
		return p.reclaim(ctx, object.(*core.PersistentVolume))
	}
	return nil
}

func (p *provisioner) provision(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || claim.Annotations[annotationProvisioner] != name ||
		claim.Spec.StorageClassName == nil {
		return nil
	}
	object, exists, _ := p.classes.GetByKey(*claim.Spec.StorageClassName)
	if !exists {
		return nil
	}
	class := object.(*storage.StorageClass)
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storage.VolumeBindingWaitForFirstConsumer
	if waits && claim.Annotations[annotationNode] == "" {
		return nil
	}
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == core.PersistentVolumeBlock {
		log.Printf("claim %s/%s: block volumes are not offered", claim.Namespace, claim.Name)
		return nil
	}
	volumeName := "pvc-" + string(claim.UID)
	path := filepath.Join(p.folder, volumeName)
	if err := os.Mkdir(path, 0o777); err != nil && !os.IsExist(err) {
		return err
	}
	if class.Parameters["size"] == "true" {
		size := claim.Spec.Resources.Requests[core.ResourceStorage]
		if err := fileSystem(path, size.Value()); err != nil {
			return err
		}
	}
	policy := core.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	_, err := p.client.CoreV1().PersistentVolumes().Create(ctx, &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: volumeName, Annotations: map[string]string{annotationMadeBy: name}},
		Spec: core.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      core.ResourceList{core.ResourceStorage: claim.Spec.Resources.Requests[core.ResourceStorage]},
			PersistentVolumeReclaimPolicy: policy,
			StorageClassName:              class.Name,
			MountOptions:                  slices.Clone(class.MountOptions),
			PersistentVolumeSource:        core.PersistentVolumeSource{Local: &core.LocalVolumeSource{Path: path}},
			ClaimRef: &core.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion,
			},
			NodeAffinity: &core.VolumeNodeAffinity{Required: &core.NodeSelector{NodeSelectorTerms: []core.NodeSelectorTerm{{
				MatchExpressions: []core.NodeSelectorRequirement{{
					Key: core.LabelHostname, Operator: core.NodeSelectorOpIn, Values: []string{p.node},
				}},
			}}}},
		},
	}, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		log.Printf("made %s for claim %s/%s", volumeName, claim.Namespace, claim.Name)
	}
	return err
}

func (p *provisioner) reclaim(ctx context.Context, volume *core.PersistentVolume) error {
	if volume.Annotations[annotationMadeBy] != name || volume.Status.Phase != core.VolumeReleased ||
		volume.Spec.PersistentVolumeReclaimPolicy != core.PersistentVolumeReclaimDelete {
		return nil
	}
	// Only ever a folder that this program made, whatever the object says by now.
	path := filepath.Join(p.folder, volume.Name)
	if volume.Spec.Local == nil || filepath.Clean(volume.Spec.Local.Path) != path {
		return fmt.Errorf("its path is not %s: left alone", path)
	}
	if _, err := os.Stat(path + image); err == nil {
		if err := command("umount", "--lazy", path); err != nil {
			log.Print(err)
		}
		if err := os.Remove(path + image); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	err := p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name,
		meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &volume.UID}})
	if err == nil {
		log.Printf("deleted %s", volume.Name)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// What a volume of true size is kept in, beside the folder that it is mounted at.
const image = ".ext4"

// fileSystem mounts a file system of that size at a folder: one that gets full.
func fileSystem(path string, size int64) error {
	if command("mountpoint", "--quiet", path) == nil {
		return nil
	}
	file, err := os.OpenFile(path+image, os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = errors.Join(os.Truncate(path+image, size), file.Close(), command("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", path+image))
	}
	if err != nil && !os.IsExist(err) {
		return errors.Join(err, os.Remove(path+image))
	}
	if err := command("mount", "-o", "loop", path+image, path); err != nil {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(path, "lost+found")), os.Chmod(path, 0o777))
}

func command(name string, arguments ...string) error {
	said, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, arguments, err, said)
	}
	return nil
}
