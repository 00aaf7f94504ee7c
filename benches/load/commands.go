package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/load"
	"multi-operator/benches/load/measure"
)

func flags(name string) *flag.FlagSet { return flag.NewFlagSet("load "+name, flag.ExitOnError) }

func client() (*api.Client, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return nil, errors.New(`KUBECONFIG is not set: eval "$(scripts/cluster env --name NAME)"`)
	}
	return api.FromKubeconfig(path)
}

func apply(ctx context.Context, args []string) (any, error) {
	f := flags("apply")
	b := load.Batch{}
	namespace := f.String("namespace", "default", "where")
	f.StringVar(&b.Kind, "kind", "myapp", "myapp, deployment or configmap")
	f.StringVar(&b.Prefix, "prefix", "app", "names are PREFIX-00000 and so on")
	f.IntVar(&b.Count, "count", 100, "how many")
	f.IntVar(&b.Replicas, "replicas", 0, "pods of each")
	f.IntVar(&b.Workers, "workers", 16, "requests at a time")
	f.StringVar(&b.Image, "image", load.Image, "what they run")
	wait := f.Duration("wait", 0, "wait that long at most until all MyApps are Ready")
	_ = f.Parse(args)
	b.Namespaces = []string{*namespace}
	c, err := client()
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	var tracker *load.Tracker
	if *wait > 0 {
		tracker = load.Track(ctx, c, api.MyApps(*namespace), (*api.Object).Ready)
		defer tracker.Stop()
	}
	start := time.Now()
	created, err := load.Apply(ctx, c, b)
	if err != nil {
		return nil, err
	}
	result["seconds"], result["per_second"] = created.Seconds, float64(b.Count)/created.Seconds
	if tracker != nil {
		if err := tracker.Wait(ctx, b.Count, *wait); err != nil {
			return nil, err
		}
		result["ready"] = load.LatencyOf(start, created, tracker.Times(), nil)
	}
	return result, nil
}

func waitReady(ctx context.Context, args []string) (any, error) {
	f := flags("wait-ready")
	namespace := f.String("namespace", "default", "where")
	count := f.Int("count", 100, "how many must be Ready")
	limit := f.Duration("timeout", 10*time.Minute, "how long at most")
	_ = f.Parse(args)
	c, err := client()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	tracker := load.Track(ctx, c, api.MyApps(*namespace), (*api.Object).Ready)
	defer tracker.Stop()
	if err := tracker.Wait(ctx, *count, *limit); err != nil {
		return nil, err
	}
	return map[string]any{"ready": *count, "seconds": time.Since(start).Seconds()}, nil
}

func clean(ctx context.Context, args []string) (any, error) {
	f := flags("clean")
	namespace := f.String("namespace", "default", "where")
	limit := f.Duration("timeout", 10*time.Minute, "how long at most")
	_ = f.Parse(args)
	c, err := client()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := c.Do(ctx, http.MethodDelete, api.MyApps(*namespace), "", nil, nil); err != nil {
		return nil, err
	}
	for {
		apps, err := c.Count(ctx, api.MyApps(*namespace))
		if err != nil {
			return nil, err
		}
		deployments, err := c.Count(ctx, api.Deployments(*namespace))
		if err != nil {
			return nil, err
		}
		if apps+deployments == 0 {
			return map[string]any{"seconds": time.Since(start).Seconds()}, nil
		}
		if time.Since(start) > *limit {
			return nil, fmt.Errorf("%d MyApps and %d Deployments were left after %s", apps, deployments, *limit)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func audit(_ context.Context, args []string) (any, error) {
	f := flags("audit")
	q := measure.Query{}
	file := f.String("file", os.Getenv("MULTI_OPERATOR_AUDIT_LOG"), "the audit log")
	since := f.String("since", "", "only requests received at or after this time (RFC 3339), or that long ago (90s)")
	f.StringVar(&q.User, "user", "", "only this user's")
	f.StringVar(&q.Agent, "user-agent", "", "only of clients whose user agent contains this")
	f.StringVar(&q.Namespace, "namespace", "", "only for objects of this namespace")
	_ = f.Parse(args)
	if *since != "" {
		ago, err := time.ParseDuration(*since)
		q.Since = time.Now().Add(-ago)
		if err != nil {
			if q.Since, err = time.Parse(time.RFC3339, *since); err != nil {
				return nil, fmt.Errorf("--since %q is neither a duration nor a time", *since)
			}
		}
	}
	return measure.Audit(*file, q)
}

func proc(_ context.Context, args []string) (any, error) {
	f := flags("proc")
	pid := f.Int("pid", 0, "which process")
	_ = f.Parse(args)
	return measure.Proc(*pid)
}

func metric(ctx context.Context, args []string) (any, error) {
	f := flags("metric")
	url := f.String("url", "http://127.0.0.1:8080/metrics", "the page")
	name := f.String("name", "controller_runtime_reconcile_total", "the metric")
	_ = f.Parse(args)
	return measure.Metric(ctx, *url, *name)
}

func disk(_ context.Context, args []string) (any, error) {
	f := flags("disk")
	dir := f.String("dir", ".", "the folder")
	times := f.Int("times", 500, "how many writes")
	_ = f.Parse(args)
	return measure.Fdatasync(*dir, *times)
}
