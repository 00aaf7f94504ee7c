package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// kindFolder is one kind's: its Lua, its tests, its objects, laid out as Argo CD lays out its own.
type kindFolder struct {
	path, group, kind string
}

func (k kindFolder) name() string { return k.group + "/" + k.kind }

func kindFolders(root string) ([]kindFolder, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "health.lua"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no */*/health.lua: %w", root, err)
	}
	var folders []kindFolder
	for _, file := range files {
		path := filepath.Dir(file)
		folders = append(folders, kindFolder{path, filepath.Base(filepath.Dir(path)), filepath.Base(path)})
	}
	return folders, nil
}

// testFile reads a file of tests; an unknown key is a mistake.
func testFile[T any](folder, name string) (tests T, err error) {
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return tests, err
	}
	if err := yaml.UnmarshalStrict(content, &tests); err != nil {
		return tests, fmt.Errorf("%s/%s: %w", folder, name, err)
	}
	return tests, nil
}

// objects are the names of the files of testdata, as tests name them.
func objects(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "testdata", "*.yaml"))
	names := make([]string, 0, len(files))
	for _, file := range files {
		names = append(names, "testdata/"+filepath.Base(file))
	}
	return names, err
}

// unnamed complains of files that no test names, and of tests whose file is not there.
func unnamed(folder, tests string, named []string) []error {
	files, err := objects(folder)
	if err != nil {
		return []error{err}
	}
	var wrong []error
	for _, file := range files {
		if !slices.Contains(named, file) {
			wrong = append(wrong, fmt.Errorf("%s/%s is in no test of %s", folder, file, tests))
		}
	}
	for _, file := range named {
		if !slices.Contains(files, file) {
			wrong = append(wrong, fmt.Errorf("%s/%s names %s, which is not there", folder, tests, file))
		}
	}
	return wrong
}

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
		return errors.New("check needs --argocd, --config and a folder")
	}
	folders, err := kindFolders(flags.Arg(0))
	if err != nil {
		return err
	}
	argo := argocd{*program, *config}
	wrong := []error{}
	for _, folder := range folders {
		if *only != "" && folder.kind != *only {
			continue
		}
		tasks, found := testsOf(argo, folder)
		found = append(found, runAll(tasks)...)
		fmt.Printf("%s: %d tests, %d failed\n", folder.name(), len(tasks), len(found))
		wrong = append(wrong, found...)
	}
	for _, each := range wrong {
		fmt.Fprintln(os.Stderr, strings.TrimSpace(each.Error()))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d wrong", len(wrong))
	}
	return nil
}

// testsOf are all tests of a kind, and what is wrong with them before they are run.
func testsOf(argo argocd, folder kindFolder) (tasks []task, wrong []error) {
	for _, of := range []func(argocd, kindFolder) ([]task, []error){healthTests, kstatusTests, actionTests} {
		more, found := of(argo, folder)
		tasks, wrong = append(tasks, more...), append(wrong, found...)
	}
	return tasks, wrong
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
