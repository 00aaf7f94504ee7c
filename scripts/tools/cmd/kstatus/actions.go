package main

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// untested complains of actions that no case runs, or that no case lists as enabled or as disabled; and of tests of an action
// that the kind does not have.
func untested(file kindFile, actions []string) (wrong []error) {
	ran, listed := map[string]bool{}, map[string]map[availability]bool{}
	for _, each := range file.cases {
		for action := range each.Runs {
			ran[action] = true
		}
		for action, available := range each.Actions {
			if listed[action] == nil {
				listed[action] = map[availability]bool{}
			}
			listed[action][available] = true
		}
	}
	for _, action := range actions {
		if !ran[action] || !listed[action][enabled] || !listed[action][disabled] {
			wrong = append(wrong, fmt.Errorf("%s must run %s, and list it as enabled and as disabled", file.path, action))
		}
	}
	for action := range listed {
		ran[action] = true
	}
	for _, action := range slices.Sorted(maps.Keys(ran)) {
		if !slices.Contains(actions, action) {
			wrong = append(wrong, fmt.Errorf("%s tests %s, which is no action of the kind", file.path, action))
		}
	}
	return wrong
}

func testActions(argo argocd, each testCase) error {
	found, err := argo.actions(each.file)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(found, each.Actions) {
		return fmt.Errorf("its actions are %v, and the test wants %v", found, each.Actions)
	}
	return nil
}

func testRun(argo argocd, each testCase, action string, wanted outcome) error {
	created, text, err := argo.runAction(each.file, action)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	found, err := parseObject(text)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	expected, err := wanted.of(each.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if err := forgetTime(found, expected); err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if created != (wanted.Creates != nil) || !reflect.DeepEqual(found.Object, expected.Object) {
		return fmt.Errorf("%s gives (new: %t)\n%s\nand the test wants (new: %t)\n%v",
			action, created, text, wanted.Creates != nil, expected.Object)
	}
	return nil
}

// of returns the expected outcome for an object.
func (o outcome) of(object []byte) (*unstructured.Unstructured, error) {
	if o.Creates != nil {
		return parseObject(o.Creates)
	}
	changed, err := jsonpatch.MergePatch(object, o.Changes)
	if err != nil {
		return nil, err
	}
	return parseObject(changed)
}

var (
	// The placeholder for the time of a run in an expected outcome.
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
