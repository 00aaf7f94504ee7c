// Package scenario runs the benchmarks: each on a new, empty cluster, for each subject in turn.
package scenario

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"multi-operator/benches/load/api"
	"multi-operator/benches/load/measure"
)

const (
	systemNamespace = "multi-operator-bench"
	loadNamespace   = "load"
)

// Options are what one may choose.
type Options struct {
	Root       string // the checkout
	CRDs       string
	Cluster    string
	Dir        string // kubeconfigs and logs
	Counts     []int
	PodCount   int
	Runs       int
	BrokenRuns int
	Samples    int
	Workers    int
	Settle     time.Duration // until a process counts as settled
	Silence    time.Duration
	Plateau    time.Duration // until a broken object's retries count as at their plateau
	Subjects   []*Subject
}

// Bench is one run of the benchmarks.
type Bench struct {
	Options
	Report Report

	admin    *api.Client
	auditLog string
	kubectl  string
	begun    time.Time
	mu       sync.Mutex
	running  []*Running
}

// New makes a Bench that has not done anything yet.
func New(o Options) *Bench { return &Bench{Options: o, begun: time.Now()} }

// Say prints a line of progress.
func (b *Bench) Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1f s] %s\n", time.Since(b.begun).Seconds(), fmt.Sprintf(format, args...))
}

func (b *Bench) kubeconfig(s *Subject) string { return filepath.Join(b.Dir, s.Name+".kubeconfig") }

func (b *Bench) cluster(ctx context.Context, args ...string) error {
	return b.run(ctx, filepath.Join(b.Root, "scripts", "cluster"), append(args, "--name", b.Cluster)...)
}

func (b *Bench) run(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	// Asked to end, scripts/cluster tidies up.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

// Reset gives an empty cluster: a new etcd and a new API server, so that nothing of one subject's run is left in the
// way of the next one's.
func (b *Bench) Reset(ctx context.Context) error {
	b.StopAll()
	start := time.Now()
	if err := b.cluster(ctx, "down"); err != nil {
		return err
	}
	if err := b.cluster(ctx, "up", "--profile", "control-plane"); err != nil {
		return err
	}
	if err := b.connect(ctx); err != nil {
		return err
	}
	if err := b.run(ctx, b.kubectl, "apply", "--server-side", "-f", b.CRDs); err != nil {
		return err
	}
	if err := b.run(ctx, b.kubectl, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return err
	}
	for _, namespace := range []string{systemNamespace, loadNamespace} {
		if err := b.makeNamespace(ctx, namespace); err != nil {
			return err
		}
	}
	for _, s := range b.Subjects {
		if err := b.admit(ctx, s); err != nil {
			return err
		}
	}
	b.Say("an empty cluster, in %.0f s", time.Since(start).Seconds())
	return nil
}

// connect asks scripts/cluster how to reach the cluster.
func (b *Bench) connect(ctx context.Context) error {
	script := `set -euo pipefail; eval "$("$1" env --name "$2")"; printf '%s\n' "$KUBECONFIG" "$MULTI_OPERATOR_AUDIT_LOG" "$(command -v kubectl)"`
	out, err := exec.CommandContext(ctx, "bash", "-c", script, "bash", filepath.Join(b.Root, "scripts", "cluster"), b.Cluster).Output()
	if err != nil {
		return fmt.Errorf("scripts/cluster env --name %s: %w", b.Cluster, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 {
		return fmt.Errorf("scripts/cluster env: unexpected %q", out)
	}
	if err := os.Setenv("KUBECONFIG", lines[0]); err != nil {
		return err
	}
	b.auditLog, b.kubectl = lines[1], lines[2]
	b.admin, err = api.FromKubeconfig(lines[0])
	return err
}

func (b *Bench) makeNamespace(ctx context.Context, name string) error {
	if err := b.admin.Post(ctx, "/api/v1/namespaces", object("v1", "Namespace", "", name, nil)); err != nil {
		return err
	}
	// Pods are refused until the default service account is there.
	path := "/api/v1/namespaces/" + name + "/serviceaccounts/default"
	for range 300 {
		err := b.admin.Do(ctx, http.MethodGet, path, "", nil, nil)
		if err == nil || !api.IsCode(err, http.StatusNotFound) {
			return err
		}
		sleep(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("no default service account in %s", name)
}

// admit gives the subject a user of its own, by which the audit log tells it apart, and a kubeconfig.
func (b *Bench) admit(ctx context.Context, s *Subject) error {
	accounts := "/api/v1/namespaces/" + systemNamespace + "/serviceaccounts"
	if err := b.admin.Post(ctx, accounts, object("v1", "ServiceAccount", systemNamespace, s.Name, nil)); err != nil {
		return err
	}
	binding := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "bench-"+s.Name, map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": s.Name, "namespace": systemNamespace}},
	})
	if err := b.admin.Post(ctx, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding); err != nil {
		return err
	}
	var token struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	request := map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": map[string]any{"expirationSeconds": 86400},
	}
	if err := b.admin.Do(ctx, http.MethodPost, accounts+"/"+s.Name+"/token", api.JSONType, request, &token); err != nil {
		return err
	}
	return b.admin.WriteKubeconfig(b.kubeconfig(s), s.Name, token.Status.Token)
}

func object(apiVersion, kind, namespace, name string, rest map[string]any) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	out := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for key, value := range rest {
		out[key] = value
	}
	return out
}

// requests counts the subject's between two times.
func (b *Bench) requests(s *Subject, since, until time.Time, namespace string) (*measure.Requests, error) {
	return measure.Audit(b.auditLog, measure.Query{User: s.User(), Since: since, Until: until, Namespace: namespace})
}

// lead starts the subject, and waits until it leads and has nothing to do.
func (b *Bench) lead(ctx context.Context, s *Subject) (*Running, error) {
	r, err := b.Start(s)
	if err != nil {
		return nil, err
	}
	if err := r.WaitLeading(ctx, 60*time.Second); err != nil {
		return nil, err
	}
	return r, r.WaitQuiet(ctx, 120*time.Second)
}

// serversCPU is the seconds that the API server's and etcd's own processes have taken so far.
func (b *Bench) serversCPU(ctx context.Context) (apiServer, etcd float64, err error) {
	page, err := b.admin.Text(ctx, "/metrics")
	if err != nil {
		return 0, 0, err
	}
	if apiServer, err = measure.Sum(bytes.NewReader(page), "process_cpu_seconds_total"); err != nil {
		return 0, 0, err
	}
	// scripts/cluster keeps the id of each process, and when it was started, beside the audit log.
	line, err := os.ReadFile(filepath.Join(filepath.Dir(b.auditLog), "pids", "etcd"))
	if err != nil {
		return 0, 0, err
	}
	id, _, _ := strings.Cut(string(line), " ")
	pid, err := strconv.Atoi(id)
	if err != nil {
		return 0, 0, err
	}
	process, err := measure.Proc(pid)
	return apiServer, process.CPUSeconds, err
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
