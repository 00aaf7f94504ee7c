package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/load"
	"multi-operator/benches/load/measure"
)

// Light measures what the machine and Kubernetes themselves can do: no operator can be faster.
func (b *Bench) Light(ctx context.Context, creates int) error {
	if err := b.Reset(ctx); err != nil {
		return err
	}
	add := func(situation, metric, unit string, value float64) {
		b.Report.Add("speed of light", situation, metric, unit, Machine, value)
	}
	// The audit log lies on the disk that etcd writes to.
	disk, err := measure.Fdatasync(filepath.Dir(b.auditLog), 500)
	if err != nil {
		return err
	}
	add("", "fdatasync p50", "ms", disk.P50)
	add("", "fdatasync p99", "ms", disk.P99)
	b.Say("fdatasync: p50 %.2f ms, p99 %.2f ms", disk.P50, disk.P99)
	for _, workers := range []int{1, 16} {
		n := creates
		if workers == 1 {
			n /= 4
		}
		created, err := load.Apply(ctx, b.admin, load.Batch{
			Kind: "configmap", Namespaces: []string{loadNamespace}, Prefix: fmt.Sprintf("light%d", workers), Count: n, Workers: workers,
		})
		if err != nil {
			return err
		}
		rate := float64(n) / created.Seconds
		add("", fmt.Sprintf("ConfigMap creates, %d workers", workers), "/s", rate)
		b.Say("ConfigMap creates with %d workers: %.0f/s", workers, rate)
	}
	// Until its controller has seen a Deployment without pods, and made its ReplicaSet.
	tracker := load.Track(ctx, b.admin, api.Deployments(loadNamespace), func(o *api.Object) bool {
		return o.Status.ObservedGeneration == o.Metadata.Generation
	})
	defer tracker.Stop()
	start := time.Now()
	if _, err := load.Apply(ctx, b.admin, load.Batch{
		Kind: "deployment", Namespaces: []string{loadNamespace}, Prefix: "light", Count: creates, Workers: b.Workers,
	}); err != nil {
		return err
	}
	answered := time.Since(start)
	if err := tracker.Wait(ctx, creates, 10*time.Minute); err != nil {
		return err
	}
	observed := time.Since(start)
	add("", "Deployment creates, replicas 0", "/s", float64(creates)/answered.Seconds())
	add("", "Deployments created and observed", "/s", float64(creates)/observed.Seconds())
	b.Say("Deployments: %.0f/s created, %.0f/s observed", float64(creates)/answered.Seconds(), float64(creates)/observed.Seconds())
	return nil
}
