//go:build tools

// Package tools pins the Operator Lifecycle Manager and opm; scripts/olm and scripts/catalog build them from here.
package tools

import (
	_ "github.com/operator-framework/operator-lifecycle-manager/cmd/catalog"
	_ "github.com/operator-framework/operator-lifecycle-manager/cmd/olm"
	_ "github.com/operator-framework/operator-registry/cmd/opm"
)
