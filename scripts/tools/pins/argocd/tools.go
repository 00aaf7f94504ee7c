//go:build tools

// Package tools pins Argo CD, all of whose programs are one binary; scripts/argocd builds it from here.
package tools

import _ "github.com/argoproj/argo-cd/v3/cmd"
