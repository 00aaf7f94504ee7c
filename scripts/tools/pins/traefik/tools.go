//go:build tools

// Package tools pins Traefik, through which the tests of routes send their requests; scripts/gateways builds it from here.
package tools

import _ "github.com/traefik/traefik/v3/cmd/traefik"
