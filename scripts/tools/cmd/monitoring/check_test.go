package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const page = "# ManagerOld\n\n## Meaning\n\n## Impact\n\n## Diagnosis\n\n```\nkubectl get pods\n```\n\n## Mitigation\n"

const promtool = `
tests:
- alert_rule_test:
  - {alertname: ManagerOld, exp_alerts: [{exp_labels: {}}]}
  - {alertname: ManagerOld, exp_alerts: []}
`

// alerts checks the alert above, with a runbook and tests, and one text of them replaced.
func alerts(t *testing.T, old, new string) string {
	t.Helper()
	replaced := false
	change := func(text string) string {
		if replaced || !strings.Contains(text, old) {
			return text
		}
		replaced = true
		return strings.Replace(text, old, new, 1)
	}
	root := t.TempDir()
	put(t, filepath.Join(root, "runbooks/ManagerOld.md"), change(page))
	put(t, filepath.Join(root, "runbooks/README.md"), "# Runbooks\n")
	put(t, filepath.Join(root, "tests/manager.yaml"), change(promtool))
	found, err := read(strings.NewReader(change(objects)))
	if err != nil {
		t.Fatal(err)
	}
	if !replaced {
		t.Fatalf("%q is nowhere", old)
	}
	return strings.Join(checkAlerts(found, filepath.Join(root, "runbooks"), filepath.Join(root, "tests"), "https://example.com/runbooks"), "\n")
}

func TestAGoodAlertHasNoFindings(t *testing.T) {
	if found := alerts(t, "", ""); found != "" {
		t.Error(found)
	}
}

func TestFaultsOfAnAlertAreReported(t *testing.T) {
	for _, one := range []struct{ old, new, words string }{
		{"summary: The manager's backup is old", "summary: Old", "its summary says nothing"},
		{"backup is old\n", "backup is old.\n", "ends without a full stop"},
		{"severity: warning", "severity: info", `its severity is "info"`},
		{"runbooks/ManagerOld.md", "runbooks/ManagerOdd.md", "runbook_url is"},
		{"# ManagerOld\n", "# Manager\n", "does not begin with # ManagerOld"},
		{"## Mitigation", "## What to do", `has no "## Mitigation" where it belongs`},
		{"## Impact", "## Mitigation", `has no "## Impact" where it belongs`},
		{"kubectl get pods", "look", "has no command for the diagnosis"},
		{"exp_alerts: [{exp_labels: {}}]", "exp_alerts: []", "sees it fire"},
		{"exp_alerts: []", "exp_alerts: [{}]", "sees it silent"},
		{"alert: ManagerOld", "alert: ManagerNew", "ManagerOld.md is of no alert"},
		{"alert: ManagerOld", "alert: ManagerNew", "there is no runbook"},
		{"alert: ManagerOld", "record: manager_old", "there is no alert"},
		{"\ntests:", "\ntests: a", "error converting YAML"},
	} {
		if found := alerts(t, one.old, one.new); !strings.Contains(found, one.words) {
			t.Errorf("%s: %q, and wanted was %q", one.new, found, one.words)
		}
	}
}

func TestAGoodDashboardHasNoFindings(t *testing.T) {
	if found := checkDashboards(rendered(t, "", "")); len(found) != 0 {
		t.Errorf("%q", found)
	}
}

func TestFaultsOfADashboardAreReported(t *testing.T) {
	for _, one := range []struct{ old, new, words string }{
		{`"uid": "manager"`, `"uid": ""`, "it needs a title, a uid and a tag"},
		{`"editable": false`, `"editable": true`, "it is editable"},
		{`"refresh": 2`, `"refresh": 1`, "variable name is not refreshed"},
		{`{"name": "datasource", "type": "datasource"}, `, ``, "its first variable is not the datasource"},
		{`"id": 2`, `"id": 1`, "panel id 1 is there twice"},
		{`"x": 12`, `"x": 11`, `panels "Backups" and "Ready" overlap`},
		{`"x": 12`, `"x": 13`, "it is wider than the page"},
		{`"description": "How many."`, `"description": ""`, "it needs a title and a description"},
		{`"uid": "${datasource}"`, `"uid": "prometheus"`, "its datasource is not ${datasource}"},
		{`"unit": "short"`, `"unit": ""`, "it has no unit"},
		{`"targets": [{"refId": "A", "expr": "sum(up{job=\"multi-operator-metrics\"})", "instant": true}]`, `"targets": []`, "it asks nothing"},
		{`\"$name\"`, `\"$nome\"`, "there is no variable nome"},
		{`[$__rate_interval]`, `[5m]`, "rate without $__rate_interval"},
		{`sum(up{job=`, `sum(up{namespace=`, "up is a metric of other targets, too"},
		{`sum(up{job=\"multi-operator-metrics\"})`, `sum(up`, "parse error"},
		{"grafana_dashboard", "dashboard", "there is no dashboard"},
	} {
		if found := strings.Join(checkDashboards(rendered(t, one.old, one.new)), "\n"); !strings.Contains(found, one.words) {
			t.Errorf("%s: %q, and wanted was %q", one.new, found, one.words)
		}
	}
	two := rendered(t, "", "")
	two.Dashboards = append(two.Dashboards, two.Dashboards[0])
	if found := strings.Join(checkDashboards(two), "\n"); !strings.Contains(found, "have one uid") {
		t.Errorf("%q", found)
	}
}
