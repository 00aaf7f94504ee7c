// myapp-controller-runtime is the operator that multi-operator's MyApp is measured against: the same API, written in Go
// on the newest controller-runtime with the care that its documentation and large users recommend. See benches/README.md.
package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type ctrlOptions = controller.Options

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	metrics := flag.String("metrics-bind-address", "127.0.0.1:8080", "address of /metrics")
	secure := flag.Bool("metrics-secure", false, "serve /metrics over TLS")
	health := flag.String("health-probe-bind-address", "127.0.0.1:8081", "address of /healthz and /readyz")
	lease := flag.String("lease-namespace", "default", "namespace of the Lease")
	elect := flag.Bool("leader-elect", true, "act only while holding the Lease")
	concurrency := flag.Int("concurrency", 8, "reconciles at a time")
	ownWrites := flag.Bool("read-your-writes", true, "a read from the cache waits for the writes before it")
	// Registers --kubeconfig too; KUBECONFIG and the service account in a pod serve without it.
	flag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo})))

	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // the server's priority and fairness does this better

	// Only the types in use: client-go's whole scheme would cost memory.
	scheme := runtime.NewScheme()
	addToScheme(scheme)
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	mine := labels.SelectorFromSet(labels.Set{managedByLabel: managedByValue})
	const leaseName = "myapp-controller-runtime"
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				// Read only here, and copied before a change, so that reads need not copy.
				&appsv1.Deployment{}: {Label: mine, UnsafeDisableDeepCopy: ptr.To(true)},
				&corev1.Pod{}:        {Label: mine, UnsafeDisableDeepCopy: ptr.To(true), Transform: keepAilments},
			},
		},
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ownWrites}},
		Metrics:                       metricsserver.Options{BindAddress: *metrics, SecureServing: *secure},
		HealthProbeBindAddress:        *health,
		LeaderElection:                *elect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       *lease,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, instanceIndex, func(pod client.Object) []string {
		return []string{pod.GetLabels()[instanceLabel]}
	}); err != nil {
		return err
	}
	r := &reconciler{Client: mgr.GetClient(), live: mgr.GetAPIReader(), managedBy: *lease + "/" + leaseName}
	// Warm-up: a standby keeps its caches full, as ours does.
	if err := r.setup(mgr, ctrlOptions{MaxConcurrentReconciles: *concurrency, EnableWarmup: ptr.To(true)}); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// keepAilments drops all of a pod but what says whose it is and why it does not run: of a healthy one, hardly anything.
func keepAilments(in any) (any, error) {
	pod, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Labels: map[string]string{instanceLabel: pod.Labels[instanceLabel]},
	}}
	if ailment(pod) != "" {
		out.Status.ContainerStatuses = pod.Status.ContainerStatuses
	}
	return out, nil
}
