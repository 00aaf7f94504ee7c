package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus-operator/prometheus-operator/pkg/assets"
	"github.com/prometheus-operator/prometheus-operator/pkg/prometheus"
	"github.com/prometheus/common/model"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// printConfiguration prints what the prometheus-operator would give its Prometheus.
func printConfiguration(rendered *Rendered, faster float64, rules string) error {
	if len(rendered.Monitors) == 0 {
		return errors.New("there is no ServiceMonitor")
	}
	for _, monitor := range rendered.Monitors {
		for i := range monitor.Spec.Endpoints {
			whole, err := model.ParseDuration(string(monitor.Spec.Endpoints[i].Interval))
			if err != nil {
				return fmt.Errorf("%s: interval: %w", monitor.Name, err)
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
		return err
	}
	text, err := generator.GenerateServerConfiguration(server, rendered.Monitors, nil, nil, nil,
		assets.NewTestStoreBuilder(), nil, nil, nil, nil)
	if err != nil {
		return err
	}
	// Its sidecar, the config-reloader, fills these in.
	text = []byte(strings.NewReplacer("$(SHARD)", "0", "$(POD_NAME)", "prometheus-k8s-0").Replace(string(text)))
	// The operator mounts ConfigMaps of rules, and names their folders.
	configuration := strings.Replace(string(text), "rule_files: []\n", "rule_files:\n- "+rules+"\n", 1)
	if !strings.Contains(configuration, rules) {
		configuration += "rule_files:\n- " + rules + "\n"
	}
	_, err = os.Stdout.WriteString(configuration)
	return err
}
