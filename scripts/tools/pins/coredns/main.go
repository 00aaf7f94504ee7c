// Command coredns is CoreDNS with only the plugins that scripts/cluster configures.
package main

import (
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"

	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
)

func init() {
	// The order is the order in which a query passes through the plugins.
	dnsserver.Directives = []string{"bind", "health", "ready", "errors", "kubernetes", "template"}
}

func main() {
	coremain.Run()
}
