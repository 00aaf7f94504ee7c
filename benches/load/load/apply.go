// Package load makes objects and waits for what becomes of them.
package load

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"multi-operator/benches/load/api"
)

// Batch is a number of objects of one kind.
type Batch struct {
	Kind       string // myapp, deployment or configmap
	Namespaces []string
	Prefix     string
	Count      int
	Replicas   int
	Workers    int
	Image      string
}

// Image is what MyApps run unless told otherwise; kwok's nodes never pull it.
const Image = "nginx:1.25"

// Created says when the API server had answered each create, and how long all took.
type Created struct {
	At      map[string]time.Time
	Seconds float64
}

// Name is that of the i-th object; Namespace is chosen by i too, so that kinds of namespace are mixed evenly.
func (b *Batch) Name(i int) string      { return fmt.Sprintf("%s-%05d", b.Prefix, i) }
func (b *Batch) Namespace(i int) string { return b.Namespaces[i%len(b.Namespaces)] }

func (b *Batch) body(i int) (path string, object any) {
	namespace := b.Namespace(i)
	metadata := map[string]any{"name": b.Name(i), "namespace": namespace}
	image := b.Image
	if image == "" {
		image = Image
	}
	switch b.Kind {
	case "configmap":
		return api.ConfigMaps(namespace), map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"key": "value"},
		}
	case "deployment":
		labels := map[string]any{"app": b.Name(i)}
		return api.Deployments(namespace), map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
			"spec": map[string]any{
				"replicas": b.Replicas,
				"selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{
					"metadata": map[string]any{"labels": labels},
					"spec":     map[string]any{"containers": []any{map[string]any{"name": "app", "image": image}}},
				},
			},
		}
	default:
		return api.MyApps(namespace), map[string]any{
			"apiVersion": "example.com/v1", "kind": "MyApp", "metadata": metadata,
			"spec": map[string]any{"image": image, "replicas": b.Replicas},
		}
	}
}

// Apply creates the batch as fast as the API server takes it. The first failure ends it.
func Apply(ctx context.Context, c *api.Client, b Batch) (*Created, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := make([]time.Time, b.Count)
	var next atomic.Int64
	var workers sync.WaitGroup
	start := time.Now()
	for range max(1, b.Workers) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.Count || ctx.Err() != nil {
					return
				}
				path, object := b.body(i)
				if err := c.Do(ctx, http.MethodPost, path, api.JSONType, object, nil); err != nil {
					cancel(fmt.Errorf("creating %s: %w", b.Name(i), err))
					return
				}
				answered[i] = time.Now()
			}
		})
	}
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	created := &Created{At: make(map[string]time.Time, b.Count), Seconds: time.Since(start).Seconds()}
	for i, at := range answered {
		created.At[b.Namespace(i)+"/"+b.Name(i)] = at
	}
	return created, nil
}
