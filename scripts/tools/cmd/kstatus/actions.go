package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// actionFile is Argo CD's action_test.yaml.
type actionFile struct {
	DiscoveryTests []struct {
		InputPath string `json:"inputPath"`
		Result    []struct {
			Name     string `json:"name"`
			Disabled bool   `json:"disabled"`
		} `json:"result"`
	} `json:"discoveryTests"`
	ActionTests []struct {
		Action             string `json:"action"`
		InputPath          string `json:"inputPath"`
		ExpectedOutputPath string `json:"expectedOutputPath"`
	} `json:"actionTests"`
}

func actionTests(argo argocd, folder kindFolder) (tasks []task, wrong []error) {
	path := filepath.Join(folder.path, "actions")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	tests, err := testFile[actionFile](path, "action_test.yaml")
	if err != nil {
		return nil, []error{err}
	}
	var named []string
	for _, test := range tests.DiscoveryTests {
		named = append(named, test.InputPath)
		wanted := map[string]bool{}
		for _, action := range test.Result {
			wanted[action.Name] = action.Disabled
		}
		tasks = append(tasks, func() error { return discovers(argo, filepath.Join(path, test.InputPath), wanted) })
	}
	for _, test := range tests.ActionTests {
		named = append(named, test.InputPath, test.ExpectedOutputPath)
		input, output := filepath.Join(path, test.InputPath), filepath.Join(path, test.ExpectedOutputPath)
		tasks = append(tasks, func() error { return acts(argo, test.Action, input, output) })
	}
	// What actions begin with are mostly the objects that health is judged of, which health_test.yaml names.
	own := slices.DeleteFunc(named, func(file string) bool { return strings.HasPrefix(file, "../testdata/") })
	return tasks, append(unnamed(path, "action_test.yaml", own), untried(path, tests)...)
}

// untried complains of actions that no test runs, or that no test sees enabled and disabled.
func untried(path string, tests actionFile) (wrong []error) {
	scripts, err := filepath.Glob(filepath.Join(path, "*", "action.lua"))
	if err != nil || len(scripts) == 0 {
		return []error{fmt.Errorf("%s has no */action.lua: %w", path, err)}
	}
	for _, script := range scripts {
		action := filepath.Base(filepath.Dir(script))
		ran, seen := false, map[bool]bool{}
		for _, test := range tests.ActionTests {
			ran = ran || test.Action == action
		}
		for _, test := range tests.DiscoveryTests {
			for _, result := range test.Result {
				if result.Name == action {
					seen[result.Disabled] = true
				}
			}
		}
		if !ran || !seen[true] || !seen[false] {
			wrong = append(wrong, fmt.Errorf("%s/action_test.yaml must run %s, and see it enabled and disabled", path, action))
		}
	}
	return wrong
}

func discovers(argo argocd, file string, wanted map[string]bool) error {
	disabled, err := argo.actions(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if !reflect.DeepEqual(disabled, wanted) {
		return fmt.Errorf("%s: of its actions these are disabled: %v, and the test wants %v", file, disabled, wanted)
	}
	return nil
}

func acts(argo argocd, action, input, output string) error {
	created, outcome, err := argo.runAction(input, action)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", input, action, err)
	}
	object, err := parseObject(outcome)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", input, action, err)
	}
	wanted, creates, err := expected(output)
	if err != nil {
		return err
	}
	if err := forgetTime(object, wanted); err != nil {
		return fmt.Errorf("%s: %s: %w", input, action, err)
	}
	if created != creates || !reflect.DeepEqual(object.Object, wanted.Object) {
		return fmt.Errorf("%s: %s gives (new: %t)\n%s\nand not what is in %s", input, action, created, outcome, output)
	}
	return nil
}

// expected reads an outcome: an object, or a list of one that is to be created.
func expected(file string) (object *unstructured.Unstructured, creates bool, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, false, err
	}
	if len(content) == 0 || content[0] != '-' {
		object, err = parseObject(content)
		return object, false, err
	}
	var list []struct {
		Operation string         `json:"k8sOperation"`
		Object    map[string]any `json:"unstructuredObj"`
	}
	if err := yaml.UnmarshalStrict(content, &list); err != nil || len(list) != 1 || list[0].Operation != "create" {
		return nil, false, fmt.Errorf("%s must be a list of one object that is created: %w", file, err)
	}
	return &unstructured.Unstructured{Object: list[0].Object}, true, nil
}

var (
	// What stands for the time of a run in an expected outcome.
	noTime  = "0001-01-01T00:00:00Z"
	seconds = regexp.MustCompile(`^(.*-)([0-9]{10})$`)
)

// forgetTime puts what the test has for it in place of each time of this very run; another time is a mistake.
func forgetTime(object, wanted *unstructured.Unstructured) error {
	annotations := object.GetAnnotations()
	for key, value := range wanted.GetAnnotations() {
		if value != noTime {
			continue
		}
		at, err := time.Parse(time.RFC3339, annotations[key])
		if err != nil || time.Since(at).Abs() > time.Hour {
			return fmt.Errorf("the annotation %s is %q, and should be the time", key, annotations[key])
		}
		annotations[key] = noTime
		object.SetAnnotations(annotations)
	}
	if seconds.FindStringSubmatch(wanted.GetName()) == nil {
		return nil
	}
	name := seconds.FindStringSubmatch(object.GetName())
	if name == nil {
		return fmt.Errorf("the name %s does not end with seconds", object.GetName())
	}
	since, err := strconv.ParseInt(name[2], 10, 64)
	if err != nil || time.Since(time.Unix(since, 0)).Abs() > time.Hour {
		return fmt.Errorf("the name %s does not end with the time", object.GetName())
	}
	object.SetName(name[1] + "0000000000")
	return nil
}
