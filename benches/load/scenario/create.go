package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/load"
	"multi-operator/benches/load/measure"
)

// Idle measures a manager with nothing to look after.
func (b *Bench) Idle(ctx context.Context) error {
	return b.each(b.Runs, func(s *Subject) error {
		if err := b.Reset(ctx); err != nil {
			return err
		}
		r, err := b.lead(ctx, s)
		if err != nil {
			return err
		}
		sleep(ctx, b.Settle)
		p, err := r.Proc()
		if err != nil {
			return err
		}
		b.memory("idle", "no MyApps", s, "", p)
		requests, err := b.requests(s, r.Started, time.Now(), "")
		if err != nil {
			return err
		}
		b.Report.Add("idle", "no MyApps", "watches open", "", s.Name, float64(requests.WatchesOpen))
		b.Say("%s: %.1f MiB, watches: %s", s.Name, p.RSS, strings.Join(requests.Open, " "))
		_, err = r.Stop(syscall.SIGTERM)
		return err
	})
}

// each takes the subjects in turn, run by run, so that a slow spell of the machine does not hit one of them alone.
func (b *Bench) each(runs int, one func(*Subject) error) error {
	for range runs {
		for _, s := range b.Subjects {
			if err := one(s); err != nil {
				b.StopAll()
				return fmt.Errorf("%s: %w", s.Name, err)
			}
		}
	}
	return nil
}

func (b *Bench) memory(scenario, situation string, s *Subject, when string, p measure.Process) {
	for _, m := range []struct {
		name  string
		value float64
	}{{"RSS", p.RSS}, {"RssAnon", p.RSSAnon}, {"RssFile", p.RSSFile}, {"RSS peak", p.RSSPeak}} {
		b.Report.Add(scenario, situation, m.name+when, "MiB", s.Name, m.value)
	}
}

// Create measures what becomes of many MyApps applied at once, then silence, then a restart.
func (b *Bench) Create(ctx context.Context, count, replicas int) error {
	scenario := fmt.Sprintf("%d MyApps", count)
	situation := fmt.Sprintf("replicas %d", replicas)
	return b.each(b.Runs, func(s *Subject) error {
		b.Say("%s: %s, %s", s.Name, scenario, situation)
		if err := b.Reset(ctx); err != nil {
			return err
		}
		add := func(metric, unit string, value float64) {
			b.Report.Add(scenario, situation, metric, unit, s.Name, value)
		}
		r, err := b.lead(ctx, s)
		if err != nil {
			return err
		}
		if err := b.creation(ctx, r, count, replicas, add); err != nil {
			return err
		}
		if err := b.silence(ctx, r, scenario, situation, add); err != nil {
			return err
		}
		return b.restart(ctx, r, scenario, situation, add)
	})
}

type adder func(metric, unit string, value float64)

func (b *Bench) creation(ctx context.Context, r *Running, count, replicas int, add adder) error {
	s := r.Subject
	sleep(ctx, 2*time.Second)
	before, err := r.Proc()
	if err != nil {
		return err
	}
	reconciled, err := r.Reconciles(ctx)
	if err != nil {
		return err
	}
	served, kept, err := b.serversCPU(ctx)
	if err != nil {
		return err
	}
	tracker := load.Track(ctx, b.admin, api.MyApps(loadNamespace), (*api.Object).Ready)
	defer tracker.Stop()
	start := time.Now()
	created, err := load.Apply(ctx, b.admin, load.Batch{
		Kind: "myapp", Namespaces: []string{loadNamespace}, Prefix: "app", Count: count, Replicas: replicas, Workers: b.Workers,
	})
	if err != nil {
		return err
	}
	if err := tracker.Wait(ctx, count, 15*time.Minute); err != nil {
		return err
	}
	latency := load.LatencyOf(start, created, tracker.Times(), nil)
	tracker.Stop()
	// What comes after the last Ready belongs to the creates too: late events, late reconciles.
	if err := r.WaitQuiet(ctx, 5*time.Minute); err != nil {
		return err
	}
	end := time.Now()
	after, err := r.Proc()
	if err != nil {
		return err
	}
	total, err := r.Reconciles(ctx)
	if err != nil {
		return err
	}
	servedNow, keptNow, err := b.serversCPU(ctx)
	if err != nil {
		return err
	}
	requests, err := b.requests(s, start, end, "")
	if err != nil {
		return err
	}
	n := float64(count)
	add("creates by the loader", "/s", n/created.Seconds)
	add("time to all Ready", "s", latency.Total)
	add("create to Ready p50", "ms", latency.P50)
	add("create to Ready p99", "ms", latency.P99)
	add("writes per MyApp", "", float64(requests.Writes)/n)
	add("  of them status", "", float64(requests.StatusWrites)/n)
	add("reads per MyApp (get)", "", float64(requests.Gets)/n)
	add("lists", "", float64(requests.Lists))
	add("Event writes per MyApp", "", float64(requests.EventWrites)/n)
	for _, verb := range slices.Sorted(maps.Keys(requests.ByVerb)) {
		if !strings.HasSuffix(verb, " leases") {
			add(detail+verb, "", float64(requests.ByVerb[verb])/n)
		}
	}
	add("reconciles per create", "", (total-reconciled)/n)
	add("CPU, creates to quiet", "s", after.CPUSeconds-before.CPUSeconds)
	add("API server's CPU per MyApp", "ms", 1000*(servedNow-served)/n)
	add("etcd's CPU per MyApp", "ms", 1000*(keptNow-kept)/n)
	b.Say("%s: all Ready in %.1f s, p99 %.0f ms, %.2f writes and %.2f reconciles each, %.2f CPU s, failed: %v",
		s.Name, latency.Total, latency.P99, float64(requests.Writes)/n, (total-reconciled)/n, after.CPUSeconds-before.CPUSeconds, requests.Failed)
	return nil
}

func (b *Bench) silence(ctx context.Context, r *Running, scenario, situation string, add adder) error {
	s := r.Subject
	sleep(ctx, b.Settle)
	before, err := r.Proc()
	if err != nil {
		return err
	}
	start := time.Now()
	sleep(ctx, b.Silence)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	after, err := r.Proc()
	if err != nil {
		return err
	}
	requests, err := b.requests(s, start, time.Now(), "")
	if err != nil {
		return err
	}
	in := fmt.Sprintf(" in %.0f s of silence", b.Silence.Seconds())
	b.memory(scenario, situation, s, ", grown", after)
	add("writes"+in, "", float64(requests.Writes))
	add("lists"+in, "", float64(requests.Lists))
	add("gets"+in, "", float64(requests.Gets))
	add("Event writes"+in, "", float64(requests.EventWrites))
	add("CPU"+in, "s", after.CPUSeconds-before.CPUSeconds)
	add("watches open", "", float64(requests.WatchesOpen))
	b.Say("%s: silence: %d writes, %d lists; %.1f MiB; watches: %s", s.Name, requests.Writes, requests.Lists, after.RSS, strings.Join(requests.Open, " "))
	return nil
}

func (b *Bench) restart(ctx context.Context, r *Running, scenario, situation string, add adder) error {
	s := r.Subject
	took, err := r.Stop(syscall.SIGTERM)
	if err != nil {
		return err
	}
	next, err := b.lead(ctx, s)
	if err != nil {
		return err
	}
	quiet := time.Since(next.Started) - 2*time.Second // quiet is known 2 s after it began
	reconciled, err := next.Reconciles(ctx)
	if err != nil {
		return err
	}
	sleep(ctx, b.Settle)
	p, err := next.Proc()
	if err != nil {
		return err
	}
	requests, err := b.requests(s, next.Started, time.Now(), "")
	if err != nil {
		return err
	}
	add("exit after SIGTERM", "s", took.Seconds())
	add("restart: start to quiet", "s", quiet.Seconds())
	add("restart: writes", "", float64(requests.Writes))
	add("restart: gets", "", float64(requests.Gets))
	add("restart: lists", "", float64(requests.Lists))
	add("restart: watch-lists", "", float64(requests.WatchLists))
	add("restart: reconciles", "", reconciled)
	add("restart: CPU", "s", p.CPUSeconds)
	b.memory(scenario, situation, s, ", after a restart", p)
	b.Say("%s: restart: %d writes, %d lists, %.1f MiB (peak %.1f)", s.Name, requests.Writes, requests.Lists, p.RSS, p.RSSPeak)
	_, err = next.Stop(syscall.SIGTERM)
	return err
}
