// Command etcd is the etcd server, built from its module (the module's own main package cannot be named from outside).
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
