// bundle-validators runs the operator-framework's own validators on a bundle, and the rules by which OLM v1 lets a CRD take
// the place of an earlier one. Each finding is a line of JSON on stdout; what is excused, cargo xtask check-bundle knows.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
)

// Finding is what cargo xtask check-bundle reads.
type Finding struct {
	Level   string `json:"level"`
	Check   string `json:"check"`
	Message string `json:"message"`
}

func main() {
	kubernetes := flag.String("kubernetes", "", "the newest version of Kubernetes that the bundle is for, such as 1.36.3")
	previous := flag.String("previous", "", "the directory of the previous release, if there is one: a bundle, or CRDs only")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: bundle-validators --kubernetes VERSION [--previous DIR] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *kubernetes == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *kubernetes, *previous); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(folder, kubernetes, previous string) error {
	bundle, err := load(folder)
	if err != nil {
		return err
	}
	findings, err := schemas(bundle.V1CRDs)
	if err != nil {
		return err
	}
	findings = append(findings, validate(bundle, kubernetes)...)
	if previous != "" {
		before, err := definitions(previous)
		if err != nil {
			return err
		}
		changes, err := compare(before, bundle.V1CRDs)
		if err != nil {
			return err
		}
		findings = append(findings, changes...)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for _, finding := range findings {
		if err := encoder.Encode(finding); err != nil {
			return err
		}
	}
	return nil
}

// load reads a bundle's folder. The library takes a folder that is not there for an empty one.
func load(folder string) (*manifests.Bundle, error) {
	if _, err := os.Stat(filepath.Join(folder, "manifests")); err != nil {
		return nil, fmt.Errorf("%s is no bundle: %w", folder, err)
	}
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return bundle, nil
}
