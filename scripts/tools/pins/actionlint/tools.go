//go:build tools

// Package tools pins actionlint; scripts/test builds it from here.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
