//go:build tools

// Pins cpb, which copies a bundle out of its image, and which is in OLM's image of utilities.
package main

import _ "github.com/operator-framework/operator-lifecycle-manager/util/cpb"
