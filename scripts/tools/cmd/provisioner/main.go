// Command provisioner creates volumes for the nodes of a scripts/cluster cluster, all of which are on this machine.
//
// A PVC whose storage class names this provisioner gets a directory of its own, writable for every user (pods run as any user
// id), as a `local` volume, so that fsGroup works as it does on real disks. When the PVC is deleted and the reclaim policy is
// Delete, the directory and the volume are deleted too. Volumes of limited size grow with their PVCs.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// name is what a storage class calls this provisioner.
const name = "multi-operator.local/folder"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	node := flag.String("node", "", "the node of volumes for which the scheduler has selected none")
	folder := flag.String("folder", "", "the directory in which volumes are created")
	flag.Parse()
	if *node == "" || *folder == "" {
		log.Fatal("--node and --folder are required")
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1
	if err := os.MkdirAll(*folder, 0o755); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("provisioning %s volumes in %s", name, *folder)
	made := &folders{node: *node, root: *folder, fileSystems: loopDevices{ask}}
	go newExpander(client, made).run(ctx)
	newController(ctx, client, made).Run(ctx)
}

func newController(ctx context.Context, client kubernetes.Interface, made *folders) *controller.ProvisionController {
	return controller.NewProvisionController(ctx, client, name, made,
		// One provisioner per cluster: no other one leads.
		controller.LeaderElection(false),
		// Tests wait for volumes, and a claim may become possible at any time: the library's own pause is 15 s, and it gives up.
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second)),
		controller.FailedProvisionThreshold(0),
		controller.FailedDeleteThreshold(0),
	)
}
