package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// unitTests is the part of promtool's format that shows which alerts are tested.
type unitTests struct {
	Tests []struct {
		AlertRuleTests []struct {
			Alertname string           `json:"alertname"`
			ExpAlerts []map[string]any `json:"exp_alerts"`
		} `json:"alert_rule_test"`
	} `json:"tests"`
}

// checkAlerts reports what is missing in an alert for the person whom it wakes.
func checkAlerts(rendered *Rendered, runbooks, tests, url string) []string {
	var findings []string
	fires, silent, err := tested(tests)
	if err != nil {
		return []string{err.Error()}
	}
	pages := map[string]bool{}
	alerts := rendered.alerts()
	if len(alerts) == 0 {
		findings = append(findings, "there is no alert")
	}
	for _, alert := range alerts {
		say := func(format string, of ...any) {
			findings = append(findings, fmt.Sprintf("alert %s: ", alert.Alert)+fmt.Sprintf(format, of...))
		}
		for _, problem := range annotations(alert) {
			say("%s", problem)
		}
		if expected := url + "/" + alert.Alert + ".md"; alert.Annotations["runbook_url"] != expected {
			say("runbook_url is %q instead of %q (PROJECT_URL of scripts/names.env)", alert.Annotations["runbook_url"], expected)
		}
		pages[alert.Alert+".md"] = true
		for _, problem := range runbook(filepath.Join(runbooks, alert.Alert+".md"), alert.Alert) {
			say("%s", problem)
		}
		if !fires[alert.Alert] {
			say("no test in %s sees it fire", tests)
		}
		if !silent[alert.Alert] {
			say("no test in %s sees it silent", tests)
		}
	}
	return append(findings, strayPages(runbooks, pages)...)
}

func annotations(alert monitoring.Rule) []string {
	var problems []string
	for _, name := range []string{"summary", "description"} {
		if text := alert.Annotations[name]; len(text) < 20 {
			problems = append(problems, fmt.Sprintf("its %s says nothing: %q", name, text))
		}
	}
	if severity := alert.Labels["severity"]; severity != "critical" && severity != "warning" {
		problems = append(problems, fmt.Sprintf("its severity is %q, neither critical nor warning", severity))
	}
	if strings.HasSuffix(alert.Annotations["summary"], ".") {
		problems = append(problems, "its summary is a headline, and ends without a full stop")
	}
	return problems
}

// Sections of a runbook, in this order (docs/style.md).
var sections = []string{"## Meaning", "## Impact", "## Diagnosis", "## Mitigation"}

func runbook(path, name string) []string {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return []string{"there is no runbook " + path}
	}
	text, at := string(bytes), 0
	if !strings.HasPrefix(text, "# "+name+"\n") {
		return []string{path + " does not begin with # " + name}
	}
	for _, section := range sections {
		found := strings.Index(text[at:], "\n"+section+"\n")
		if found < 0 {
			return []string{fmt.Sprintf("%s has no %q where it belongs", path, section)}
		}
		at += found
	}
	if !regexp.MustCompile("(?s)```\n.*kubectl .*```").MatchString(text) {
		return []string{path + " has no command for the diagnosis"}
	}
	return nil
}

// strayPages are runbooks of alerts that are no more.
func strayPages(folder string, pages map[string]bool) []string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.md"))
	var findings []string
	for _, file := range files {
		if name := filepath.Base(file); name != "README.md" && !pages[name] {
			findings = append(findings, file+" is of no alert")
		}
	}
	return findings
}

// tested are the alerts that tests see fire, and those that tests see silent.
func tested(folder string) (fires, silent map[string]bool, err error) {
	fires, silent = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	for _, file := range files {
		bytes, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		var all unitTests
		if err := yaml.Unmarshal(bytes, &all); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, test := range all.Tests {
			for _, expected := range test.AlertRuleTests {
				seen := fires
				if len(expected.ExpAlerts) == 0 {
					seen = silent
				}
				seen[expected.Alertname] = true
			}
		}
	}
	return fires, silent, err
}
