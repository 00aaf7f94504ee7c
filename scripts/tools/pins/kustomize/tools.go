//go:build tools

// Package tools pins kustomize; scripts/cluster builds it from here.
package tools

import _ "sigs.k8s.io/kustomize/kustomize/v5"
