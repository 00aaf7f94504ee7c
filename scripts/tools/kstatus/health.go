package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// healthFile is Argo CD's health_test.yaml.
type healthFile struct {
	Tests []struct {
		InputPath    string `json:"inputPath"`
		HealthStatus struct {
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"healthStatus"`
	} `json:"tests"`
}

func healthTests(argo argocd, folder kindFolder) (tasks []task, wrong []error) {
	tests, err := testFile[healthFile](folder.path, "health_test.yaml")
	if err != nil {
		return nil, []error{err}
	}
	var named []string
	for _, test := range tests.Tests {
		named = append(named, test.InputPath)
		file := filepath.Join(folder.path, test.InputPath)
		tasks = append(tasks, func() error {
			status, message, err := argo.health(file)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if status != test.HealthStatus.Status || message != test.HealthStatus.Message {
				return fmt.Errorf("%s: Argo CD says\n  %s: %s\nand the test wants\n  %s: %s", file,
					status, message, test.HealthStatus.Status, test.HealthStatus.Message)
			}
			return nil
		})
	}
	return tasks, unnamed(folder.path, "health_test.yaml", named)
}

// kstatusFile has the kstatus of each object.
type kstatusFile struct {
	Tests []struct {
		InputPath string `json:"inputPath"`
		Kstatus   string `json:"kstatus"`
	} `json:"tests"`
}

func kstatusTests(_ argocd, folder kindFolder) (tasks []task, wrong []error) {
	tests, err := testFile[kstatusFile](folder.path, "kstatus_test.yaml")
	if err != nil {
		return nil, []error{err}
	}
	var named []string
	for _, test := range tests.Tests {
		named = append(named, test.InputPath)
		file := filepath.Join(folder.path, test.InputPath)
		tasks = append(tasks, func() error {
			object, err := readObject(file)
			if err != nil {
				return err
			}
			if object.GetKind() != folder.kind || !strings.HasPrefix(object.GetAPIVersion(), folder.group+"/") {
				return fmt.Errorf("%s is of another kind", file)
			}
			result, err := statusOf(object)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if result.Status.String() != test.Kstatus {
				return fmt.Errorf("%s: kstatus is %s, and the test wants %s", file, result.Status, test.Kstatus)
			}
			return nil
		})
	}
	return tasks, unnamed(folder.path, "kstatus_test.yaml", named)
}
