//go:build tools

// Package tools pins Prometheus (3.5, of long-term support) and promtool, which judge the alerts.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
	_ "github.com/prometheus/prometheus/cmd/promtool"
)
