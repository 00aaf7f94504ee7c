package scenario

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/load"
	"multi-operator/benches/load/measure"
)

// Drift measures how fast a Deployment that was edited or deleted by hand is back, and by how many writes.
func (b *Bench) Drift(ctx context.Context) error {
	return b.each(b.Runs, func(s *Subject) error {
		if err := b.Reset(ctx); err != nil {
			return err
		}
		r, err := b.lead(ctx, s)
		if err != nil {
			return err
		}
		// One for each sample: who meets the same child again within seconds asks first who takes it away.
		batch, err := b.converge(ctx, loadNamespace, "app", b.Samples)
		if err != nil {
			return err
		}
		for _, mode := range []string{"edit", "delete"} {
			if err := r.WaitQuiet(ctx, time.Minute); err != nil {
				return err
			}
			served, kept, err := b.serversCPU(ctx)
			if err != nil {
				return err
			}
			start := time.Now()
			var ms []float64
			for i := range b.Samples {
				took, err := load.Drift(ctx, b.admin, loadNamespace, batch.Name(i), mode, 30*time.Second)
				if err != nil {
					return fmt.Errorf("%s: %w", mode, err)
				}
				ms = append(ms, took)
				// The next sample of the same object must not meet the end of this one.
				sleep(ctx, 20*time.Millisecond)
			}
			if err := r.WaitQuiet(ctx, time.Minute); err != nil {
				return err
			}
			servedNow, keptNow, err := b.serversCPU(ctx)
			if err != nil {
				return err
			}
			requests, err := b.requests(s, start, time.Now(), "")
			if err != nil {
				return err
			}
			n := float64(b.Samples)
			situation := "Deployment " + mode + "ed by hand"
			if mode == "delete" {
				situation = "Deployment deleted by hand"
			}
			b.Report.Add("drift", situation, "until back p50", "ms", s.Name, measure.Percentile(ms, 50))
			b.Report.Add("drift", situation, "until back p99", "ms", s.Name, measure.Percentile(ms, 99))
			b.Report.Add("drift", situation, "until back max", "ms", s.Name, measure.Percentile(ms, 100))
			b.Report.Add("drift", situation, "writes to the Deployment each", "", s.Name, float64(requests.Writes-requests.StatusWrites)/n)
			b.Report.Add("drift", situation, "status writes each", "", s.Name, float64(requests.StatusWrites)/n)
			b.Report.Add("drift", situation, "gets each", "", s.Name, float64(requests.Gets)/n)
			b.Report.Add("drift", situation, "API server's CPU each", "ms", s.Name, 1000*(servedNow-served)/n)
			b.Report.Add("drift", situation, "etcd's CPU each", "ms", s.Name, 1000*(keptNow-kept)/n)
			b.Say("%s: %s: p50 %.1f ms, max %.1f ms, by %v", s.Name, mode, measure.Percentile(ms, 50), measure.Percentile(ms, 100), requests.ByVerb)
		}
		_, err = r.Stop(syscall.SIGTERM)
		return err
	})
}

// converge makes MyApps without pods and waits until all are Ready.
func (b *Bench) converge(ctx context.Context, namespace, prefix string, count int) (*load.Batch, error) {
	tracker := load.Track(ctx, b.admin, api.MyApps(namespace), (*api.Object).Ready)
	defer tracker.Stop()
	batch := load.Batch{Kind: "myapp", Namespaces: []string{namespace}, Prefix: prefix, Count: count, Workers: b.Workers}
	if _, err := load.Apply(ctx, b.admin, batch); err != nil {
		return nil, err
	}
	return &batch, tracker.Wait(ctx, count, 2*time.Minute)
}

// Failover measures how long nobody acts after the leader has gone, killed or asked to stop.
func (b *Bench) Failover(ctx context.Context) error {
	return b.each(b.Runs, func(s *Subject) error {
		if err := b.Reset(ctx); err != nil {
			return err
		}
		leader, err := b.lead(ctx, s)
		if err != nil {
			return err
		}
		if _, err := b.converge(ctx, loadNamespace, "before", 10); err != nil {
			return err
		}
		for i, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGTERM} {
			standby, err := b.Start(s)
			if err != nil {
				return err
			}
			if err := standby.WaitServing(ctx, time.Minute); err != nil {
				return err
			}
			// Long enough for the standby to fill its caches and to see the Lease renewed once.
			sleep(ctx, 5*time.Second)
			tracker := load.Track(ctx, b.admin, api.Deployments(loadNamespace), func(*api.Object) bool { return true })
			if err := tracker.Wait(ctx, 10+i, time.Minute); err != nil {
				return err
			}
			gone := time.Now()
			drained, err := leader.Stop(signal)
			if err != nil {
				return err
			}
			batch := load.Batch{Kind: "myapp", Namespaces: []string{loadNamespace}, Prefix: fmt.Sprintf("after%d", i), Count: 1, Workers: 1}
			if _, err := load.Apply(ctx, b.admin, batch); err != nil {
				return err
			}
			if err := tracker.Wait(ctx, 10+i+1, 2*time.Minute); err != nil {
				return err
			}
			acted := time.Since(gone)
			tracker.Stop()
			if signal == syscall.SIGKILL {
				b.Report.Add("failover", "leader killed with -9", "until the next one acts", "s", s.Name, acted.Seconds())
			} else {
				b.Report.Add("failover", "leader stopped with SIGTERM", "drain", "s", s.Name, drained.Seconds())
				b.Report.Add("failover", "leader stopped with SIGTERM", "until the next one acts, after the drain", "s", s.Name, (acted - drained).Seconds())
			}
			b.Say("%s: %s: the next leader acted after %.2f s (drain %.2f s)", s.Name, signal, acted.Seconds(), drained.Seconds())
			leader = standby
		}
		_, err = leader.Stop(syscall.SIGTERM)
		return err
	})
}
