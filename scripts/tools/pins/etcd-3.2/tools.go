//go:build tools

// Pins etcdctl, whose own main package scripts/images builds from here.
package main

import _ "github.com/coreos/etcd/etcdctl"
