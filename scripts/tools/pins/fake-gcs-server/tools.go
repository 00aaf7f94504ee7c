//go:build tools

// Pins fake-gcs-server, an emulator of Google Cloud Storage, whose own main package scripts/test --all servers builds from here.
package main

import _ "github.com/fsouza/fake-gcs-server"
