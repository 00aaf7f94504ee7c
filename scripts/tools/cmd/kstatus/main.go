// kstatus prints what Flux and others who use kstatus take objects for; and it runs the tests of how Argo CD and kstatus
// judge our kinds, with Argo CD's own binary.
package main

import (
	"flag"
	"fmt"
	"os"
)

const usage = `usage: kstatus FILE...
       kstatus check --argocd PROGRAM --config argocd-cm.yaml [--only KIND] DIR
       kstatus reasons --rules FILE --declared FILE DIR

Prints the kstatus of each object. DIR has a file for each kind, named after it, whose documents are objects with what
Argo CD and kstatus must make of them: check compares that with what they do make of them, and reasons says which reason
that the operators can write is in none of the objects.
`

func main() {
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	switch flag.Arg(0) {
	case "check":
		err = check(flag.Args()[1:])
	case "reasons":
		err = reasons(flag.Args()[1:])
	default:
		err = printStatuses(flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func printStatuses(files []string) error {
	for _, file := range files {
		object, err := readObject(file)
		if err != nil {
			return err
		}
		result, err := statusOf(object)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Printf("%s: %s: %s\n", file, result.Status, result.Message)
	}
	return nil
}
