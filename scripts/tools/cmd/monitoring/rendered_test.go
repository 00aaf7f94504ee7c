package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The rendered output of kustomize, with one object of each kind that is checked, and one that is not.
const objects = `
apiVersion: v1
kind: Service
metadata: {name: metrics}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: manager, namespace: system}
spec:
  selector: {matchLabels: {app: manager}}
  endpoints:
  - port: metrics
    interval: 30s
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: rules}
spec:
  groups:
  - name: manager
    rules:
    - alert: ManagerOld
      expr: time() - sampledb_backup_seconds > 3600 and rate(sampledb_errors_total[10m]) > 0
      for: 10m
      labels: {severity: warning}
      annotations:
        summary: The manager's backup is old
        description: The manager has made no backup for more than an hour.
        runbook_url: https://example.com/runbooks/ManagerOld.md
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: dashboards
  labels: {grafana_dashboard: "1"}
data:
  manager.json: |
    {"title": "Manager", "uid": "manager", "tags": ["operators"], "editable": false,
     "templating": {"list": [{"name": "datasource", "type": "datasource"}, {"name": "name", "type": "query", "refresh": 2}]},
     "panels": [
       {"id": 1, "type": "timeseries", "title": "Backups", "description": "How many.", "gridPos": {"x": 0, "y": 0, "w": 12, "h": 8},
        "datasource": {"type": "prometheus", "uid": "${datasource}"}, "fieldConfig": {"defaults": {"unit": "short"}},
        "targets": [{"refId": "A", "expr": "rate(sampledb_backups_total{name=~\"$name\"}[$__rate_interval])", "legendFormat": "{{name}}"}]},
       {"id": 2, "type": "stat", "title": "Ready", "description": "How many.", "gridPos": {"x": 12, "y": 0, "w": 12, "h": 8},
        "datasource": {"type": "prometheus", "uid": "${datasource}"}, "fieldConfig": {"defaults": {"unit": "short"}},
        "targets": [{"refId": "A", "expr": "sum(up{job=\"multi-operator-metrics\"})", "instant": true}]}]}
`

// rendered reads the objects above, one text replaced.
func rendered(t *testing.T, old, new string) *Rendered {
	t.Helper()
	if !strings.Contains(objects, old) {
		t.Fatalf("%q is not in it", old)
	}
	read, err := read(strings.NewReader(strings.Replace(objects, old, new, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOnlyWhatIsForMonitoringIsKept(t *testing.T) {
	found := rendered(t, "", "")
	if len(found.Monitors) != 1 || len(found.Rules) != 1 || len(found.Dashboards) != 1 || len(found.alerts()) != 1 {
		t.Errorf("%+v", found)
	}
}

func TestAFieldThatAKindDoesNotHaveIsAnError(t *testing.T) {
	for old, new := range map[string]string{"port: metrics": "prot: metrics", "expr: time": "exp: time", `{"title"`: `{title`} {
		if _, err := read(strings.NewReader(strings.Replace(objects, old, new, 1))); err == nil {
			t.Errorf("%s was taken", new)
		}
	}
}
