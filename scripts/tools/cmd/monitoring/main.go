// monitoring reads what kustomize has rendered, from its standard input, and does with its ServiceMonitor, PrometheusRules
// and dashboards what the prometheus-operator, Prometheus and Grafana would do: by their own libraries, where they have any.
package main

import (
	"flag"
	"fmt"
	"os"
)

const usage = `usage: monitoring COMMAND [OPTIONS] <RENDERED

  rules    print a file of rules for Prometheus
  scrape   print Prometheus' configuration, as the prometheus-operator makes it of the ServiceMonitor
  check    say what is wrong with alerts, their runbooks and tests, and with dashboards
  panels   ask a Prometheus each panel's query; fail for those that return nothing
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(command string, arguments []string) error {
	flags := flag.NewFlagSet(command, flag.ExitOnError)
	var (
		faster     = flags.Float64("faster", 1, "divide `for`, ranges and intervals by this")
		ages       = flags.Float64("ages", 1, "divide what an age is compared with by this")
		rules      = flags.String("rules", "rules.yaml", "the file of rules that the configuration names")
		runbooks   = flags.String("runbooks", "", "the directory of runbooks")
		tests      = flags.String("tests", "", "the directory of promtool's tests")
		url        = flags.String("url", "", "what a runbook's URL begins with")
		prometheus = flags.String("prometheus", "", "Prometheus' URL")
		excused    = flags.String("excused", "", "a file of panels that may return nothing: DASHBOARD / PANEL: WHY")
		data       = flags.String("data", "", "write what the panels show into this file, as JSON")
		minutes    = flags.Int("minutes", 15, "the time range of the panels, in minutes")
	)
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	rendered, err := read(os.Stdin)
	if err != nil {
		return err
	}
	switch command {
	case "rules":
		return printed(rulesFile(rendered, *faster, *ages))
	case "scrape":
		return printed(configuration(rendered, *faster, *rules))
	case "check":
		return report(append(checkAlerts(rendered, *runbooks, *tests, *url), checkDashboards(rendered)...))
	case "panels":
		return askPanels(rendered, asked{*prometheus, *excused, *data, *minutes})
	}
	return fmt.Errorf("there is no command %q\n%s", command, usage)
}

func printed(text []byte, err error) error {
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

// report prints findings, a line each.
func report(findings []string) error {
	for _, finding := range findings {
		fmt.Println(finding)
	}
	if len(findings) > 0 {
		return fmt.Errorf("%d findings", len(findings))
	}
	return nil
}
