package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// healthFile is Argo CD's health_test.yaml.
type healthFile struct {
	Tests []healthTest `json:"tests"`
}

type healthTest struct {
	InputPath    string `json:"inputPath"`
	HealthStatus struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"healthStatus"`
}

func (t healthTest) input() string { return t.InputPath }

func healthTests(argo argocd, folder kindFolder) ([]task, []error) {
	const name = "health_test.yaml"
	tests, err := testFile[healthFile](folder.path, name)
	if err != nil {
		return nil, []error{err}
	}
	return ofObjects(folder, name, tests.Tests, func(file string, test healthTest) error {
		status, message, err := argo.health(file)
		if err != nil {
			return err
		}
		if status != test.HealthStatus.Status || message != test.HealthStatus.Message {
			return fmt.Errorf("Argo CD says\n  %s: %s\nand the test wants\n  %s: %s",
				status, message, test.HealthStatus.Status, test.HealthStatus.Message)
		}
		return nil
	})
}

// kstatusFile has the kstatus of each object.
type kstatusFile struct {
	Tests []kstatusTest `json:"tests"`
}

type kstatusTest struct {
	InputPath string `json:"inputPath"`
	Kstatus   string `json:"kstatus"`
}

func (t kstatusTest) input() string { return t.InputPath }

func kstatusTests(_ argocd, folder kindFolder) ([]task, []error) {
	const name = "kstatus_test.yaml"
	tests, err := testFile[kstatusFile](folder.path, name)
	if err != nil {
		return nil, []error{err}
	}
	return ofObjects(folder, name, tests.Tests, func(file string, test kstatusTest) error {
		object, err := readObject(file)
		if err != nil {
			return err
		}
		if object.GetKind() != folder.kind || !strings.HasPrefix(object.GetAPIVersion(), folder.group+"/") {
			return errors.New("it is of another kind")
		}
		result, err := statusOf(object)
		if err != nil {
			return err
		}
		if result.Status.String() != test.Kstatus {
			return fmt.Errorf("kstatus is %s, and the test wants %s", result.Status, test.Kstatus)
		}
		return nil
	})
}

// ofObjects makes a task of each test of a file, and sees to it that every object is in one.
func ofObjects[T interface{ input() string }](
	folder kindFolder, name string, tests []T, run func(file string, test T) error,
) ([]task, []error) {
	var tasks []task
	var named []string
	for _, test := range tests {
		named = append(named, test.input())
		file := filepath.Join(folder.path, test.input())
		tasks = append(tasks, func() error {
			if err := run(file, test); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			return nil
		})
	}
	return tasks, unnamed(folder.path, name, named)
}
