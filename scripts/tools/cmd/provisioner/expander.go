package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"path/filepath"
	"time"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// expander expands volumes of limited size to their PVCs' requests while pods use them. The API server lets a PVC grow only if
// its class has allowVolumeExpansion, so each request here is allowed.
type expander struct {
	client  kubernetes.Interface
	volumes *folders
	queue   workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

func newExpander(client kubernetes.Interface, volumes *folders) *expander {
	limits := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](100*time.Millisecond, 30*time.Second)
	return &expander{client: client, volumes: volumes, queue: workqueue.NewTypedRateLimitingQueue(limits)}
}

// run watches claims until the context ends.
func (e *expander) run(ctx context.Context) {
	informer := informers.NewSharedInformerFactory(e.client, 0).Core().V1().PersistentVolumeClaims().Informer()
	claims := informer.GetIndexer()
	look := func(object any) {
		if claim, ok := object.(*core.PersistentVolumeClaim); ok && asksForMore(claim) {
			e.queue.Add(cache.ObjectName{Namespace: claim.Namespace, Name: claim.Name})
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, object any) { look(object) }}
	if _, err := informer.AddEventHandler(handler); err != nil {
		log.Fatal(err)
	}
	go informer.Run(ctx.Done())
	go func() { <-ctx.Done(); e.queue.ShutDown() }()
	for {
		name, ended := e.queue.Get()
		if ended {
			return
		}
		found, exists, err := claims.GetByKey(name.String())
		if claim, ok := found.(*core.PersistentVolumeClaim); ok && exists && err == nil && asksForMore(claim) {
			err = e.expand(ctx, claim)
		}
		if err != nil {
			log.Printf("claim %s cannot grow: %v", name, err)
			e.queue.AddRateLimited(name)
		} else {
			e.queue.Forget(name)
		}
		e.queue.Done(name)
	}
}

// asksForMore is whether a claim has a volume, and asks for more than that is said to have.
func asksForMore(claim *core.PersistentVolumeClaim) bool {
	has := claim.Status.Capacity[core.ResourceStorage]
	return claim.Status.Phase == core.ClaimBound && requested(claim).Cmp(has) > 0
}

func requested(claim *core.PersistentVolumeClaim) *resource.Quantity {
	size := claim.Spec.Resources.Requests[core.ResourceStorage]
	return &size
}

func (e *expander) expand(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	volume, err := e.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, meta.GetOptions{})
	if err != nil || volume.Annotations["pv.kubernetes.io/provisioned-by"] != name {
		return err
	}
	path := filepath.Join(e.volumes.root, volume.Name)
	if err := e.volumes.grow(path, requested(claim).Value()); err != nil {
		return err
	}
	// As an external resizer and a kubelet do: the volume first, then its claim.
	capacity := core.ResourceList{core.ResourceStorage: *requested(claim)}
	patch := func(object any) []byte { text, _ := json.Marshal(object); return text }
	spec := patch(map[string]any{"spec": map[string]any{"capacity": capacity}})
	if _, err := e.client.CoreV1().PersistentVolumes().Patch(ctx, volume.Name, types.MergePatchType, spec, meta.PatchOptions{}); err != nil {
		return fmt.Errorf("capacity of %s: %w", volume.Name, err)
	}
	status := patch(map[string]any{"status": map[string]any{"capacity": capacity}})
	claims := e.client.CoreV1().PersistentVolumeClaims(claim.Namespace)
	if _, err := claims.Patch(ctx, claim.Name, types.MergePatchType, status, meta.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("capacity of the claim: %w", err)
	}
	log.Printf("%s has %s now, for claim %s/%s", volume.Name, requested(claim), claim.Namespace, claim.Name)
	return nil
}
