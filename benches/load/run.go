package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"multi-operator/benches/load/scenario"
)

// scenarioNames is the order in which they run.
var scenarioNames = []string{"light", "idle", "create", "pods", "drift", "broken", "failover"}

func runScenarios(ctx context.Context, args []string) (any, error) {
	f := flags("run")
	o := scenario.Options{}
	f.StringVar(&o.Root, "root", ".", "the checkout")
	f.StringVar(&o.CRDs, "crds", "", "folder of the definitions to apply (default: the checkout's config/crd/bases)")
	f.StringVar(&o.Cluster, "cluster", "bench", "name of the cluster, which is deleted and made again many times")
	f.StringVar(&o.Dir, "dir", "", "folder for kubeconfigs and logs")
	only := f.String("only", strings.Join(scenarioNames, ","), "which scenarios")
	counts := f.String("counts", "100,1000,5000", "numbers of MyApps without pods")
	f.IntVar(&o.PodCount, "pod-count", 1000, "number of MyApps of 3 pods, and of those a tenth of which is broken")
	f.IntVar(&o.Runs, "runs", 1, "how often each scenario runs; the median is shown")
	f.IntVar(&o.BrokenRuns, "broken-runs", 5, "the same for the broken ones")
	f.IntVar(&o.Samples, "samples", 100, "Deployments edited and deleted by hand")
	f.IntVar(&o.Workers, "workers", 16, "requests at a time of the loader")
	f.DurationVar(&o.Settle, "settle", 20*time.Second, "how long a process rests before its memory is read")
	f.DurationVar(&o.Silence, "silence", 120*time.Second, "how long nothing happens")
	f.DurationVar(&o.Plateau, "plateau", 10*time.Minute, "when retries of broken objects have become as rare as they get")
	ours := f.String("ours", "", "program of ours")
	peer := f.String("peer", "", "program of the peer")
	before := f.String("before", "", "program of ours as it was, in the place of the peer")
	save := f.String("json", "", "write the figures to this file too")
	_ = f.Parse(args)

	if o.CRDs == "" {
		o.CRDs = filepath.Join(o.Root, "config", "crd", "bases")
	}
	chosen := strings.Split(*only, ",")
	for _, name := range chosen {
		if !slices.Contains(scenarioNames, name) {
			return nil, fmt.Errorf("unknown scenario %q; there are: %s", name, strings.Join(scenarioNames, " "))
		}
	}
	for _, text := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--counts %q: numbers, separated by commas", *counts)
		}
		o.Counts = append(o.Counts, n)
	}
	if *peer != "" && *before != "" {
		return nil, fmt.Errorf("--peer and --before exclude each other: ours is compared with one")
	}
	for _, s := range []*scenario.Subject{
		{Name: scenario.Ours, Binary: *ours}, {Name: scenario.Peer, Binary: *peer}, {Name: scenario.Before, Binary: *before},
	} {
		if s.Binary != "" {
			o.Subjects = append(o.Subjects, s)
		}
	}
	if len(o.Subjects) == 0 {
		return nil, fmt.Errorf("nothing to measure: give --ours, --peer or --before")
	}
	b := scenario.New(o)
	b.Report.Beside = scenario.Peer
	if *before != "" {
		b.Report.Beside = scenario.Before
	}
	b.Report.Machine = machine()
	b.Report.Notes = notes(o)
	err := everything(ctx, b, chosen)
	b.StopAll()
	// What was measured before a failure is worth having.
	if len(b.Report.Figures) > 0 {
		if printed := b.Report.Print(os.Stdout); err == nil {
			err = printed
		}
		if *save != "" {
			if saved := b.Report.Save(*save); err == nil {
				err = saved
			}
		}
	}
	return nil, err
}

func everything(ctx context.Context, b *scenario.Bench, chosen []string) error {
	steps := map[string]func() error{
		"light": func() error { return b.Light(ctx, min(max(slices.Max(b.Counts), 500), 2000)) },
		"idle":  func() error { return b.Idle(ctx) },
		"create": func() error {
			for _, count := range b.Counts {
				if err := b.Create(ctx, count, 0); err != nil {
					return err
				}
			}
			return nil
		},
		"pods":     func() error { return b.Create(ctx, b.PodCount, 3) },
		"drift":    func() error { return b.Drift(ctx) },
		"broken":   func() error { return b.Broken(ctx, b.PodCount) },
		"failover": func() error { return b.Failover(ctx) },
	}
	for _, name := range scenarioNames {
		if !slices.Contains(chosen, name) {
			continue
		}
		b.Say("scenario %s", name)
		if err := steps[name](); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted during %s", name)
			}
			return fmt.Errorf("scenario %s: %w", name, err)
		}
	}
	return nil
}

func machine() map[string]string {
	out := map[string]string{"cpus": strconv.Itoa(runtime.NumCPU()), "time": time.Now().UTC().Format(time.RFC3339)}
	if kernel, err := os.ReadFile(filepath.Join("/proc/sys/kernel", "osrelease")); err == nil {
		out["kernel"] = strings.TrimSpace(string(kernel))
	}
	if cpu, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(cpu)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				out["cpu"] = strings.TrimSpace(value)
				break
			}
		}
	}
	return out
}

func notes(o scenario.Options) []string {
	return []string{
		fmt.Sprintf("Etcd (fsync on), API server, controllers, loader and the operator share %d CPUs: times and CPU seconds vary from run to run; "+
			"counts of requests do not. Shown is the median of %d run(s), of %d for the broken ones.", runtime.NumCPU(), o.Runs, o.BrokenRuns),
		"Requests are counted in the API server's audit log, by the user of each operator. Writes leave out Leases and Events; Events are shown apart.",
		"The manager runs all its controllers (and their watches); controller-runtime's peer only MyApp's Deployment and pods. Each: 8 reconciles at a time, no client-side rate limit.",
	}
}
