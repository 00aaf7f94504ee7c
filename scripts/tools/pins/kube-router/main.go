// Command kube-router enforces NetworkPolicies for the pods of one node: the policy controller of kube-router alone,
// without its routes and its service proxy, and without the many libraries that these need.
//
// It keeps rules of iptables and sets of ipset in the network namespace that it runs in. They stay when it ends, so that
// pods are guarded while it is started anew; --clean takes them away.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	settings := options.NewKubeRouterConfig()
	settings.EnableIPv4 = true
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	flag.StringVar(&settings.HostnameOverride, "node", "", "the name of the node whose pods are guarded")
	services := flag.String("service-range", "10.96.0.0/16", "addresses of Services, which are kube-proxy's to translate")
	clean := flag.Bool("clean", false, "take all rules and sets away, and end")
	flag.Parse()
	if settings.HostnameOverride == "" {
		log.Fatal("--node is required")
	}
	settings.ClusterIPCIDRs = []string{*services}
	// A change of a pod, a namespace or a policy is acted on at once; this is for rules that somebody else takes away.
	settings.IPTablesSyncPeriod = time.Minute
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, kubernetes.NewForConfigOrDie(config), settings, *clean); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client kubernetes.Interface, settings *options.KubeRouterConfig, clean bool) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	namespaces := factory.Core().V1().Namespaces().Informer()
	policies := factory.Networking().V1().NetworkPolicies().Informer()
	tables, sets, err := netpol.NewIPTablesHandlers(settings)
	if err != nil {
		return err
	}
	controller, err := netpol.NewNetworkPolicyController(
		client, settings, pods, policies, namespaces, &sync.Mutex{}, nil, tables, sets)
	if err != nil {
		return err
	}
	if clean {
		controller.Cleanup()
		return nil
	}
	for _, of := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{pods, controller.PodEventHandler},
		{namespaces, controller.NamespaceEventHandler},
		{policies, controller.NetworkPolicyEventHandler},
	} {
		if _, err := of.informer.AddEventHandler(of.handler); err != nil {
			return err
		}
	}
	// Rules made of half the pods would let the other half through.
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	enforce(ctx, controller)
	return nil
}

func enforce(ctx context.Context, controller *netpol.NetworkPolicyController) {
	// It tells of each pass, and here nobody asks.
	heartbeats := make(chan *healthcheck.ControllerHeartbeat, 1)
	go func() {
		for range heartbeats {
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	controller.Run(heartbeats, ctx.Done(), &running)
	running.Wait()
}
