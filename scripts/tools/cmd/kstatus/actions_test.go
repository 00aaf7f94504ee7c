package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// times compares an outcome's annotation and name with an expected outcome, in which neither has a time.
func times(t *testing.T, at, name string) (string, error) {
	t.Helper()
	outcome, err := parseObject([]byte(fmt.Sprintf("apiVersion: v1\nkind: A\nmetadata: {name: %s, annotations: {at: %q}}", name, at)))
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := parseObject([]byte("apiVersion: v1\nkind: A\nmetadata: {name: a-0000000000, annotations: {at: '" + noTime + "'}}"))
	if err != nil {
		t.Fatal(err)
	}
	err = forgetTime(outcome, wanted)
	return outcome.GetName() + " " + outcome.GetAnnotations()["at"], err
}

func TestTheTimeOfARunIsForgottenAndNoOther(t *testing.T) {
	now := time.Now().UTC()
	stamp, seconds := now.Format(time.RFC3339), fmt.Sprintf("a-%d", now.Unix())
	if found, err := times(t, stamp, seconds); err != nil || found != "a-0000000000 "+noTime {
		t.Errorf("%q, %v", found, err)
	}
	for _, one := range [][3]string{
		{"2020-01-01T00:00:00Z", seconds, "should be the time"},
		{"soon", seconds, "should be the time"},
		{stamp, "a-1000000000", "does not end with the time"},
		{stamp, "a-b", "does not end with seconds"},
	} {
		if _, err := times(t, one[0], one[1]); err == nil || !strings.Contains(err.Error(), one[2]) {
			t.Errorf("%s, %s: %v", one[0], one[1], err)
		}
	}
}

func TestAnExpectedOutcomeIsAnObjectOrOneToCreate(t *testing.T) {
	read := func(text string) (string, bool, error) {
		object, creates, err := expected(put(t, filepath.Join(t.TempDir(), "outcome.yaml"), text))
		if err != nil {
			return "", creates, err
		}
		return object.GetName(), creates, err
	}
	const one = "apiVersion: v1, kind: A, metadata: {name: a}"
	if name, creates, err := read("{" + one + "}"); name != "a" || creates || err != nil {
		t.Errorf("%s, %t, %v", name, creates, err)
	}
	if name, creates, err := read("- {k8sOperation: create, unstructuredObj: {" + one + "}}"); name != "a" || !creates || err != nil {
		t.Errorf("%s, %t, %v", name, creates, err)
	}
	for _, text := range []string{"- {k8sOperation: patch, unstructuredObj: {" + one + "}}", "- {}\n- {}", ""} {
		if _, _, err := read(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
