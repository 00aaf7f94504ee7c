//go:build tools

// Pins versitygw, an S3 server over a directory, whose own main package scripts/images builds from here.
package main

import _ "github.com/versity/versitygw/cmd/versitygw"
