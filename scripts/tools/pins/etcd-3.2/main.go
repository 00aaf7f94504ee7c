// Command etcd is the etcd server 3.2, built from its module: what the archived etcd-operator's example asks for.
package main

import "github.com/coreos/etcd/etcdmain"

func main() {
	etcdmain.Main()
}
