package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus-operator/prometheus-operator/pkg/assets"
	"github.com/prometheus-operator/prometheus-operator/pkg/prometheus"
	"github.com/prometheus/common/model"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configuration is what the prometheus-operator would give its Prometheus.
func configuration(rendered *Rendered, faster float64, rules string) ([]byte, error) {
	if len(rendered.Monitors) == 0 {
		return nil, errors.New("there is no ServiceMonitor")
	}
	for _, monitor := range rendered.Monitors {
		for i := range monitor.Spec.Endpoints {
			whole, err := model.ParseDuration(string(monitor.Spec.Endpoints[i].Interval))
			if err != nil {
				return nil, fmt.Errorf("%s: interval: %w", monitor.Name, err)
			}
			interval := time.Duration(float64(whole) / faster)
			monitor.Spec.Endpoints[i].Interval = monitoring.Duration(model.Duration(interval).String())
		}
	}
	every := monitoring.Duration(model.Duration(float64(30*time.Second) / faster).String())
	server := &monitoring.Prometheus{
		ObjectMeta: meta.ObjectMeta{Name: "k8s", Namespace: "monitoring"},
		Spec:       monitoring.PrometheusSpec{EvaluationInterval: every},
	}
	server.Spec.ScrapeInterval = every
	generator, err := prometheus.NewConfigGenerator(nil, server)
	if err != nil {
		return nil, err
	}
	text, err := generator.GenerateServerConfiguration(server, rendered.Monitors, nil, nil, nil,
		assets.NewTestStoreBuilder(), nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	// Its sidecar, the config-reloader, fills these in.
	filled := strings.NewReplacer("$(SHARD)", "0", "$(POD_NAME)", "prometheus-k8s-0").Replace(string(text))
	// The operator mounts ConfigMaps of rules, and names their folders.
	complete := strings.Replace(filled, "rule_files: []\n", "rule_files:\n- "+rules+"\n", 1)
	if !strings.Contains(complete, rules) {
		complete += "rule_files:\n- " + rules + "\n"
	}
	return []byte(complete), nil
}
