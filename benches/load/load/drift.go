package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"multi-operator/benches/load/api"
)

// Drift edits or deletes a Deployment by hand, as a person would, and returns the milliseconds until it is back.
// Deployments are of the MyApps' names.
func Drift(ctx context.Context, c *api.Client, namespace, name, mode string, limit time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	path := api.Deployments(namespace) + "/" + name
	var before api.Object
	if err := c.Do(ctx, http.MethodGet, path, "", nil, &before); err != nil {
		return 0, err
	}
	containers := before.Spec.Template.Spec.Containers
	if len(containers) != 1 {
		return 0, fmt.Errorf("%s has %d containers", name, len(containers))
	}
	const strange = "nginx:by-hand"
	started := false
	back := make(chan time.Time, 1)
	opened := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Watch(ctx, api.Deployments(namespace)+"?fieldSelector=metadata.name="+name, func(e api.Event) {
			o := &e.Object
			switch {
			case e.Type == "DELETED" || o.Image() == strange:
				started = true
			case !started:
				select {
				case opened <- struct{}{}:
				default:
				}
			case o.Image() == before.Image() && o.Metadata.DeletionTimestamp == "":
				select {
				case back <- time.Now():
				default:
				}
			}
		})
	}()
	wait := func(what string, from <-chan struct{}) error {
		select {
		case <-from:
			return nil
		case err := <-ended:
			return fmt.Errorf("watch of %s ended: %v", name, err)
		case <-ctx.Done():
			return fmt.Errorf("%s: %s", name, what)
		}
	}
	if err := wait("the watch did not open", opened); err != nil {
		return 0, err
	}
	if mode == "delete" {
		if err := c.Do(ctx, http.MethodDelete, path, "", nil, nil); err != nil {
			return 0, err
		}
	} else {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": containers[0].Name, "image": strange}},
		}}}})
		if err != nil {
			return 0, err
		}
		if err := c.Do(ctx, http.MethodPatch, path, api.StrategicMerge, patch, nil); err != nil {
			return 0, err
		}
	}
	done := time.Now()
	select {
	case at := <-back:
		return max(0, float64(at.Sub(done).Microseconds())/1000), nil
	case err := <-ended:
		return 0, fmt.Errorf("watch of %s ended: %v", name, err)
	case <-ctx.Done():
		return 0, fmt.Errorf("%s was not back after %s", name, limit)
	}
}
