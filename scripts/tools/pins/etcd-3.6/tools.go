//go:build tools

// Pins etcdctl and etcdutl, whose own main packages scripts/images builds from here.
package main

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/etcdutl/v3"
)
