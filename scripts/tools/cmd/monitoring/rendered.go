package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// Rendered is the part of kustomize's output that the checks read.
type Rendered struct {
	Monitors   map[string]*monitoring.ServiceMonitor
	Rules      []monitoring.PrometheusRule
	Dashboards []Dashboard
}

func read(from io.Reader) (*Rendered, error) {
	rendered := &Rendered{Monitors: map[string]*monitoring.ServiceMonitor{}}
	documents := yaml.NewDocumentDecoder(io.NopCloser(from))
	buffer := make([]byte, 8<<20)
	for {
		size, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return rendered, nil
		} else if err != nil {
			return nil, err
		}
		if err := rendered.take(bytes.Clone(buffer[:size])); err != nil {
			return nil, err
		}
	}
}

// take keeps an object if it is of a checked kind. A field that its kind does not have is an error.
func (r *Rendered) take(document []byte) error {
	var head core.ConfigMap
	if err := strict.Unmarshal(document, &head); err != nil {
		return nil
	}
	switch {
	case head.Kind == "ServiceMonitor":
		monitor := &monitoring.ServiceMonitor{}
		if err := strict.UnmarshalStrict(document, monitor); err != nil {
			return fmt.Errorf("ServiceMonitor %s: %w", head.Name, err)
		}
		r.Monitors[monitor.Namespace+"/"+monitor.Name] = monitor
	case head.Kind == "PrometheusRule":
		rule := monitoring.PrometheusRule{}
		if err := strict.UnmarshalStrict(document, &rule); err != nil {
			return fmt.Errorf("PrometheusRule %s: %w", head.Name, err)
		}
		r.Rules = append(r.Rules, rule)
	case head.Kind == "ConfigMap" && head.Labels["grafana_dashboard"] != "":
		for file, text := range head.Data {
			dashboard := Dashboard{File: file}
			if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
				return fmt.Errorf("dashboard %s: %w", file, err)
			}
			r.Dashboards = append(r.Dashboards, dashboard)
		}
	}
	return nil
}

// alerts are all rules that are alerts.
func (r *Rendered) alerts() []monitoring.Rule {
	var alerts []monitoring.Rule
	for _, object := range r.Rules {
		for _, group := range object.Spec.Groups {
			for _, rule := range group.Rules {
				if rule.Alert != "" {
					alerts = append(alerts, rule)
				}
			}
		}
	}
	return alerts
}
