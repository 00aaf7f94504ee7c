package scenario

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"multi-operator/benches/load/measure"
)

// Whose figures these are. Machine is for what no operator has a part in.
const (
	Ours    = "ours"
	Peer    = "controller-runtime"
	Before  = "before" // ours, of an earlier commit
	Machine = "machine"
)

// Subject is a program under measurement. Both take the same flags.
type Subject struct {
	Name   string
	Binary string
	Extra  []string // flags of this one alone
}

// User is how the audit log names the subject.
func (s *Subject) User() string { return "system:serviceaccount:" + systemNamespace + ":" + s.Name }

// Running is a started subject.
type Running struct {
	Subject *Subject
	Started time.Time
	cmd     *exec.Cmd
	metrics string
	logPath string
	exited  chan struct{}
	mu      sync.Mutex
	stopped bool
}

// concurrency is each subject's number of reconciles at a time.
const concurrency = "8"

// Start runs the subject as a process of this machine, with its own user at the API server. It is killed when this
// program ends, however that happens.
func (b *Bench) Start(s *Subject) (*Running, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	logPath := filepath.Join(b.Dir, fmt.Sprintf("%s-%d.log", s.Name, time.Now().UnixMilli()))
	logFile, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	args := append([]string{
		"--metrics-bind-address=" + ports[0], "--metrics-secure=false", "--health-probe-bind-address=" + ports[1],
		"--lease-namespace=" + systemNamespace, "--concurrency=" + concurrency,
	}, s.Extra...)
	cmd := exec.Command(s.Binary, args...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	// A small, fixed environment: GOGC, GOMAXPROCS, RUST_LOG and the like must not differ from run to run.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.Dir, "KUBECONFIG=" + b.kubeconfig(s)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r := &Running{
		Subject: s, Started: time.Now(), cmd: cmd, metrics: "http://" + ports[0] + "/metrics", logPath: logPath,
		exited: make(chan struct{}),
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(r.exited)
	}()
	b.mu.Lock()
	b.running = append(b.running, r)
	b.mu.Unlock()
	return r, nil
}

func freePorts(n int) ([]string, error) {
	var out []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		out = append(out, listener.Addr().String())
	}
	return out, nil
}

// Stop sends a signal, waits for the end, and says how long that took.
func (r *Running) Stop(signal syscall.Signal) (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return 0, nil
	}
	r.stopped = true
	start := time.Now()
	select {
	case <-r.exited:
		return 0, fmt.Errorf("%s had ended by itself: %s", r.Subject.Name, r.tail())
	default:
	}
	if err := r.cmd.Process.Signal(signal); err != nil {
		return 0, err
	}
	select {
	case <-r.exited:
		return time.Since(start), nil
	case <-time.After(40 * time.Second):
		_ = r.cmd.Process.Kill()
		<-r.exited
		return time.Since(start), fmt.Errorf("%s had not ended 40 s after %s", r.Subject.Name, signal)
	}
}

// StopAll kills what still runs.
func (b *Bench) StopAll() {
	b.mu.Lock()
	running := slices.Clone(b.running)
	b.running = nil
	b.mu.Unlock()
	for _, r := range running {
		_, _ = r.Stop(syscall.SIGKILL)
	}
}

func (r *Running) tail() string {
	text, _ := os.ReadFile(r.logPath)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return r.logPath + ":\n" + strings.Join(lines[max(0, len(lines)-8):], "\n")
}

// Proc is the process's CPU and memory.
func (r *Running) Proc() (measure.Process, error) { return measure.Proc(r.cmd.Process.Pid) }

// Reconciles is how many the subject has made, whatever came of them.
func (r *Running) Reconciles(ctx context.Context) (float64, error) {
	return measure.Metric(ctx, r.metrics, "controller_runtime_reconcile_total")
}

// WaitLeading returns when the subject holds its Lease.
func (r *Running) WaitLeading(ctx context.Context, limit time.Duration) error {
	return r.poll(ctx, limit, "lead", func() bool {
		held, err := measure.Metric(ctx, r.metrics, "leader_election_master_status")
		return err == nil && held == 1
	})
}

// WaitServing returns when /metrics answers, which a standby's does too.
func (r *Running) WaitServing(ctx context.Context, limit time.Duration) error {
	return r.poll(ctx, limit, "serve metrics", func() bool {
		_, err := r.Reconciles(ctx)
		return err == nil
	})
}

// WaitQuiet returns when no reconcile has ended for 2 s.
func (r *Running) WaitQuiet(ctx context.Context, limit time.Duration) error {
	last, since := -1.0, time.Now()
	return r.poll(ctx, limit, "become quiet", func() bool {
		n, err := r.Reconciles(ctx)
		if err != nil || n != last {
			last, since = n, time.Now()
		}
		return err == nil && time.Since(since) > 2*time.Second
	})
}

func (r *Running) poll(ctx context.Context, limit time.Duration, what string, done func() bool) error {
	deadline := time.After(limit)
	// Seldom enough that answering does not show in the process's CPU.
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.exited:
			return fmt.Errorf("%s ended: %s", r.Subject.Name, r.tail())
		case <-deadline:
			return fmt.Errorf("%s did not %s within %s: %s", r.Subject.Name, what, limit, r.tail())
		}
	}
	return nil
}
