//go:build tools

// Package tools pins kwok, which plays the nodes of the control-plane profile; scripts/cluster builds it from here.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
