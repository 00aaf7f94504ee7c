// load makes load on a cluster and measures what becomes of it. scripts/bench runs all of it: see benches/README.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `usage: load COMMAND [OPTIONS]        (load COMMAND -h lists the options)

  run         the scenarios, one after the other: what scripts/bench calls
  apply       create many objects as fast as the API server takes them; with --wait, until all are Ready
  wait-ready  wait until MyApps that exist, or come, are Ready
  clean       delete all MyApps of a namespace, and wait until their Deployments have gone
  audit       count one client's requests in the audit log
  proc        CPU and memory of a process
  metric      sum of a metric of a Prometheus page
  disk        how long fdatasync takes in a folder

All but run use KUBECONFIG and print JSON.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	commands := map[string]func(context.Context, []string) (any, error){
		"run": runScenarios, "apply": apply, "wait-ready": waitReady, "clean": clean,
		"audit": audit, "proc": proc, "metric": metric, "disk": disk,
	}
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if name := os.Args[1]; name == "-h" || name == "--help" || name == "help" {
		fmt.Print(usage)
		return
	}
	command := commands[os.Args[1]]
	if command == nil {
		fmt.Fprintf(os.Stderr, "error: unknown command %q\n\n%s", os.Args[1], usage)
		os.Exit(2)
	}
	result, err := command(ctx, os.Args[2:])
	if err == nil && result != nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
