package main

import (
	"strings"
	"testing"
)

func TestRulesAreOneFileAsTheyAre(t *testing.T) {
	text, err := rulesFile(rendered(t, "", ""), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"alert: ManagerOld", "for: 10m", "> 3600", "[10m]"} {
		if !strings.Contains(string(text), wanted) {
			t.Errorf("there is no %q in\n%s", wanted, text)
		}
	}
}

func TestTimesAndAgesAreDividedAndNothingElse(t *testing.T) {
	text, err := rulesFile(rendered(t, "", ""), 20, 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"for: 30s", "> (3600 / 60)", "[30s]", "> 0"} {
		if !strings.Contains(string(text), wanted) {
			t.Errorf("there is no %q in\n%s", wanted, text)
		}
	}
}

func TestMomentsAreNotDivided(t *testing.T) {
	text, err := rulesFile(rendered(t, "> 3600 and", "> 3600 and time() > max(sampledb_backup_seconds) and"), 20, 60)
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"> (3600 / 60)", "time() > max(sampledb_backup_seconds)"} {
		if !strings.Contains(string(text), wanted) {
			t.Errorf("there is no %q in\n%s", wanted, text)
		}
	}
}

func TestStepsOfSubqueriesAreDividedToo(t *testing.T) {
	text, err := rulesFile(rendered(t, "rate(sampledb_errors_total[10m])", "avg_over_time((sampledb_errors_total)[10m:30s])"), 20, 60)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "[30s:1s500ms]") {
		t.Errorf("there is no range of 30 s in steps of 1.5 s in\n%s", text)
	}
}

func TestRulesThatPrometheusWouldNotTakeAreErrors(t *testing.T) {
	for old, new := range map[string]string{"expr: time()": "expr: tim()", "for: 10m": "for: soon", "kind: PrometheusRule": "kind: Other"} {
		if text, err := rulesFile(rendered(t, old, new), 1, 1); err == nil {
			t.Errorf("%s gives\n%s", new, text)
		}
	}
}

func TestTheConfigurationIsThePrometheusOperatorsOwn(t *testing.T) {
	text, err := configuration(rendered(t, "", ""), 10, "rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"job_name: serviceMonitor/system/manager/0", "scrape_interval: 3s", "rule_files:\n- rules.yaml"} {
		if !strings.Contains(string(text), wanted) {
			t.Errorf("there is no %q in\n%s", wanted, text)
		}
	}
	if strings.Contains(string(text), "$(") {
		t.Errorf("what a sidecar would fill in is left:\n%s", text)
	}
	for old, new := range map[string]string{"interval: 30s": "interval: often", "kind: ServiceMonitor": "kind: Other"} {
		if _, err := configuration(rendered(t, old, new), 1, "rules.yaml"); err == nil {
			t.Errorf("%s was taken", new)
		}
	}
}
