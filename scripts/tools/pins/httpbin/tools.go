//go:build tools

// Pins go-httpbin, whose own main package scripts/images builds from here.
package main

import _ "github.com/mccutchen/go-httpbin/v2/cmd/go-httpbin"
