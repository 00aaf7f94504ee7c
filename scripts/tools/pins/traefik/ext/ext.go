// Package ext takes the place of a folder of Traefik's repository that its module does not have, since it is a module of its own
// there. Its types are embedded in routes' configuration for what others add; Traefik itself adds nothing.
package ext

// HTTP is what others add to the configuration of HTTP.
type HTTP struct{}

// Router is what others add to that of a router.
type Router struct{}
