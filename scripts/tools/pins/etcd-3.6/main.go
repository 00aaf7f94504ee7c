// Command etcd is the etcd server, built from its module (the module's own main package would be named server).
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
