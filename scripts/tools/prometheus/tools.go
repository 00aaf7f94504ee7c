//go:build tools

// Package tools pins Prometheus and promtool, which judge the alerts.
package tools

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/prometheus"
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
