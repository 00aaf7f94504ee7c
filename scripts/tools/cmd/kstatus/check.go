package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// task is one run of a test; what is wrong, it returns.
type task func() error

func check(arguments []string) error {
	flags := flag.NewFlagSet("check", flag.ExitOnError)
	program := flags.String("argocd", "", "Argo CD's program")
	config := flags.String("config", "", "the ConfigMap argocd-cm with the Lua to be tested")
	only := flags.String("only", "", "one kind")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 || *program == "" || *config == "" {
		return errors.New("check needs --argocd, --config and a directory")
	}
	wrong, err := checkAll(argocd{*program, *config}, flags.Arg(0), *only)
	if err != nil {
		return err
	}
	for _, each := range wrong {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(each.Error()))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d wrong", len(wrong))
	}
	return nil
}

// checkAll runs the tests of all kinds of a folder, or only of one, and returns what is wrong.
func checkAll(argo argocd, folder, only string) (wrong []error, err error) {
	known, err := readCustomizations(argo.config)
	if err != nil {
		return nil, err
	}
	files, err := kindFiles(folder)
	if err != nil {
		return nil, err
	}
	wrong = known.unmatched(files)
	if only != "" {
		files = slices.DeleteFunc(files, func(file kindFile) bool { return file.kind != only })
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no file of the kind %s", folder, only)
	}
	work, err := os.MkdirTemp("", "kstatus-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	for _, file := range files {
		found, err := checkKind(argo, file, known[file.name()], work)
		if err != nil {
			return nil, err
		}
		wrong = append(wrong, found...)
	}
	return wrong, nil
}

// checkKind runs all tests of a kind and returns what is wrong.
func checkKind(argo argocd, file kindFile, actions []string, work string) ([]error, error) {
	if err := file.writeObjects(work); err != nil {
		return nil, err
	}
	var tasks []task
	for _, each := range file.cases {
		for _, test := range testsOf(argo, each) {
			tasks = append(tasks, func() error {
				if err := test(); err != nil {
					return fmt.Errorf("%s: %s: %w", file.path, each.Name, err)
				}
				return nil
			})
		}
	}
	wrong := append(untested(file, actions), runAll(tasks)...)
	fmt.Printf("%s: %d tests, %d failed\n", file.name(), len(tasks), len(wrong))
	return wrong, nil
}

// testsOf are all tests of a case.
func testsOf(argo argocd, each testCase) []task {
	tests := []task{
		func() error { return testHealth(argo, each) },
		func() error { return testKstatus(each) },
	}
	if each.Actions != nil {
		tests = append(tests, func() error { return testActions(argo, each) })
	}
	for action, wanted := range each.Runs {
		tests = append(tests, func() error { return testRun(argo, each, action, wanted) })
	}
	return tests
}

// runAll runs some at a time: most of a run of argocd is waiting.
func runAll(tasks []task) (wrong []error) {
	var group sync.WaitGroup
	var lock sync.Mutex
	slots := make(chan struct{}, 6)
	for _, run := range tasks {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := run(); err != nil {
				lock.Lock()
				defer lock.Unlock()
				wrong = append(wrong, err)
			}
		})
	}
	group.Wait()
	return wrong
}
