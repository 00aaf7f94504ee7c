package scenario

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/load"
	"multi-operator/benches/load/measure"
)

// Two ways to be broken for as long as nobody helps: the operator's own write is refused, or the pods are. Fake nodes
// run every pod, so that quotas and not images have to do it.
var brokenQuota = map[string]string{
	"refused-deployments": "count/deployments.apps",
	"refused-pods":        "pods",
}

// Broken measures whether 100 broken MyApps among 1,000 delay the healthy ones, and how often a broken one is retried.
// Every tenth object is broken, so that they are spread over the whole time of the creates.
func (b *Bench) Broken(ctx context.Context, count int) error {
	scenario := fmt.Sprintf("%d of %d MyApps broken", count/10, count)
	return b.each(b.BrokenRuns, func(s *Subject) error {
		var p99 [2]float64
		for i, broken := range []bool{false, true} {
			latency, r, start, err := b.mixed(ctx, s, count, broken)
			if err != nil {
				return err
			}
			p99[i] = latency.P99
			with := "without broken ones"
			if broken {
				with = "with broken ones"
			}
			b.Report.Add(scenario, with, "healthy: create to Ready p50", "ms", s.Name, latency.P50)
			b.Report.Add(scenario, with, "healthy: create to Ready p99", "ms", s.Name, latency.P99)
			b.Report.Add(scenario, with, "healthy: time to all Ready", "s", s.Name, latency.Total)
			b.Say("%s: %s: healthy p50 %.0f ms, p99 %.0f ms", s.Name, with, latency.P50, latency.P99)
			// Retries are measured once: the plateau takes minutes, and does not vary.
			if broken && !b.measured(scenario, "plateau", s) {
				if err := b.plateau(ctx, s, scenario, count/20, start); err != nil {
					return err
				}
			}
			if _, err := r.Stop(syscall.SIGTERM); err != nil {
				return err
			}
		}
		b.Report.Add(scenario, "compared", "healthy p99 with, of that without", "", s.Name, p99[1]/p99[0])
		return nil
	})
}

func (b *Bench) measured(scenario, situation string, s *Subject) bool {
	for _, f := range b.Report.Figures {
		if f.Scenario == scenario && f.Case == situation && len(f.Values[s.Name]) > 0 {
			return true
		}
	}
	return false
}

// mixed applies count MyApps of one pod each, a tenth of them broken or not, and times the healthy ones.
func (b *Bench) mixed(ctx context.Context, s *Subject, count int, broken bool) (load.Latency, *Running, time.Time, error) {
	var none load.Latency
	fail := func(err error) (load.Latency, *Running, time.Time, error) { return none, nil, time.Time{}, err }
	if err := b.Reset(ctx); err != nil {
		return fail(err)
	}
	healthy := count
	namespaces := make([]string, 20)
	for i := range namespaces {
		namespaces[i] = loadNamespace
	}
	for name, quota := range brokenQuota {
		if err := b.makeNamespace(ctx, name); err != nil {
			return fail(err)
		}
		object := object("v1", "ResourceQuota", name, "none", map[string]any{"spec": map[string]any{"hard": map[string]any{quota: "0"}}})
		if err := b.admin.Post(ctx, "/api/v1/namespaces/"+name+"/resourcequotas", object); err != nil {
			return fail(err)
		}
	}
	if broken {
		namespaces[9], namespaces[19] = "refused-deployments", "refused-pods"
		healthy -= count / 20 * 2
	}
	r, err := b.lead(ctx, s)
	if err != nil {
		return fail(err)
	}
	sleep(ctx, 2*time.Second) // the quota controller counts a new quota within that
	tracker := load.Track(ctx, b.admin, api.MyApps(""), (*api.Object).Ready)
	defer tracker.Stop()
	start := time.Now()
	created, err := load.Apply(ctx, b.admin, load.Batch{
		Kind: "myapp", Namespaces: namespaces, Prefix: "app", Count: count, Replicas: 1, Workers: b.Workers,
	})
	if err != nil {
		return fail(err)
	}
	if err := tracker.Wait(ctx, healthy, 10*time.Minute); err != nil {
		return fail(err)
	}
	ready := tracker.Times()
	for key := range ready {
		if broken && !strings.HasPrefix(key, loadNamespace+"/") {
			return fail(fmt.Errorf("%s was meant to be broken, and is Ready", key))
		}
	}
	return load.LatencyOf(start, created, ready, nil), r, start, nil
}

// plateau counts what the broken ones cost: at first, and when retries have become as rare as they get.
func (b *Bench) plateau(ctx context.Context, s *Subject, scenario string, each int, start time.Time) error {
	b.Say("%s: waiting %s for the retries' plateau", s.Name, b.Plateau)
	sleep(ctx, time.Until(start.Add(b.Plateau)))
	const window = 2 * time.Minute
	from := time.Now()
	sleep(ctx, window)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for name := range brokenQuota {
		count := func(since, until time.Time) (*measure.Requests, error) { return b.requests(s, since, until, name) }
		early, err := count(start, start.Add(time.Minute))
		if err != nil {
			return err
		}
		late, err := count(from, from.Add(window))
		if err != nil {
			return err
		}
		b.Report.Add(scenario, "plateau", name+": requests per object in the first minute", "", s.Name, float64(early.Total())/float64(each))
		b.Report.Add(scenario, "plateau", name+": requests per object and minute", "", s.Name, float64(late.Total())/float64(each)/window.Minutes())
		b.Say("%s: %s: %.2f requests per object in the first minute, %.2f per minute at the plateau", s.Name, name,
			float64(early.Total())/float64(each), float64(late.Total())/float64(each)/window.Minutes())
	}
	return nil
}
