package main

import (
	"fmt"
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

func TestAnExpectedOutcomeIsAChangedObjectOrOneToCreate(t *testing.T) {
	const before = `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","generation":9007199254740993}}`
	const other = `{"apiVersion":"v1","kind":"B","metadata":{"name":"b"}}`
	for _, one := range []struct{ changes, creates, wanted string }{
		{`{"metadata":{"annotations":{"at":"noon"}}}`, "",
			`{"apiVersion":"v1","kind":"A","metadata":{"annotations":{"at":"noon"},"generation":9007199254740993,"name":"a"}}`},
		{`{"metadata":{"generation":null}}`, "", `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`},
		{`{}`, "", `{"apiVersion":"v1","kind":"A","metadata":{"generation":9007199254740993,"name":"a"}}`},
		{"", other, other},
	} {
		var wanted outcome
		if one.changes != "" {
			wanted.Changes = []byte(one.changes)
		} else {
			wanted.Creates = []byte(one.creates)
		}
		object, err := wanted.of([]byte(before))
		if err != nil {
			t.Fatal(err)
		}
		text, err := object.MarshalJSON()
		if err != nil || strings.TrimSpace(string(text)) != one.wanted {
			t.Errorf("%s, %v; wanted was %s", text, err, one.wanted)
		}
	}
	if _, err := (outcome{Changes: []byte("7")}).of([]byte(before)); err == nil {
		t.Error("a number was taken for changes")
	}
}
