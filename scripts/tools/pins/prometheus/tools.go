//go:build tools

// Package tools pins Prometheus (v0.315 is its release 3.15) and promtool, which judge the alerts.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
