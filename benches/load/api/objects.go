package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Object is the part of MyApps and Deployments that the benchmarks look at.
type Object struct {
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Replicas int `json:"replicas"`
		Template struct {
			Spec struct {
				Containers []struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64  `json:"observedGeneration"`
		Phase              string `json:"phase"`
		ReadyReplicas      int    `json:"readyReplicas"`
		Conditions         []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
	// Of a status, which ends a watch.
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Key is namespace/name.
func (o *Object) Key() string { return o.Metadata.Namespace + "/" + o.Metadata.Name }

// Image is that of a Deployment's only container.
func (o *Object) Image() string {
	if c := o.Spec.Template.Spec.Containers; len(c) == 1 {
		return c[0].Image
	}
	return ""
}

// Ready says whether the present spec is done: Ready is True, and it was judged by this generation.
func (o *Object) Ready() bool {
	if o.Status.ObservedGeneration != o.Metadata.Generation {
		return false
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// Event is one line of a watch.
type Event struct {
	Type   string `json:"type"`
	Object Object `json:"object"`
}

// Paths of collections; an empty namespace means all of them.
func MyApps(namespace string) string { return collection("/apis/example.com/v1", namespace, "myapps") }
func Deployments(namespace string) string {
	return collection("/apis/apps/v1", namespace, "deployments")
}
func ConfigMaps(namespace string) string { return collection("/api/v1", namespace, "configmaps") }

func collection(group, namespace, resource string) string {
	if namespace == "" {
		return group + "/" + resource
	}
	return group + "/namespaces/" + namespace + "/" + resource
}

// Count is how many objects a collection holds.
func (c *Client) Count(ctx context.Context, path string) (int, error) {
	var list struct {
		Metadata struct {
			Remaining int `json:"remainingItemCount"`
		} `json:"metadata"`
		Items []struct{} `json:"items"`
	}
	err := c.Do(ctx, http.MethodGet, path+"?limit=1", "", nil, &list)
	return len(list.Items) + list.Metadata.Remaining, err
}

// Watch calls seen for every object that is there and for every change after that, until the context ends. It opens
// again when the server closes it.
func (c *Client) Watch(ctx context.Context, path string, seen func(Event)) error {
	version := ""
	for ctx.Err() == nil {
		// From the start, the server sends what exists as ADDED and then what changes: no list, no gap.
		query := "watch=1&timeoutSeconds=3600&resourceVersion=" + version
		if version == "" {
			query = "watch=1&timeoutSeconds=3600&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
		}
		before := "?"
		if strings.Contains(path, "?") {
			before = "&"
		}
		resp, err := c.send(ctx, http.MethodGet, path+before+query, "", nil)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		decoder := json.NewDecoder(resp.Body)
		for {
			var event Event
			if err := decoder.Decode(&event); err != nil {
				resp.Body.Close()
				if ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					return fmt.Errorf("watch %s: %w", path, err)
				}
				break
			}
			if event.Type == "ERROR" {
				resp.Body.Close()
				return fmt.Errorf("watch %s: %d %s", path, event.Object.Code, event.Object.Message)
			}
			version = event.Object.Metadata.ResourceVersion
			if event.Type != "BOOKMARK" {
				seen(event)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
