package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// judged runs the command on a kind with these reasons, in addition to shared ones, and these rules.
func judged(t *testing.T, own, shared, rules string) string {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "cases/App.yaml"), cases)
	file := put(t, filepath.Join(root, "declared.json"),
		`{"kinds":{"example.com/App":{"conditions":[`+own+`],"events":["Started"]}},"shared":[`+shared+`]}`)
	err := reasons([]string{"--rules", put(t, filepath.Join(root, "rules.yaml"), rules), "--declared", file, filepath.Join(root, "cases")})
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestDeclaredReasonsAreThoseOfTheObjects(t *testing.T) {
	const own, shared = `"ImageNotFound","Running"`, `"Forbidden"`
	const plain = "example.com/App: {}\nevery kind: {excused: {it passes: [Forbidden]}}\n"
	excusing := func(word string) string {
		return strings.Replace(plain, "App: {}", "App: {excused: {it is gone at once: ["+word+"]}}", 1)
	}
	for _, one := range []struct{ own, shared, rules, words string }{
		{own, shared, plain, ""},
		{own + `,"Starting"`, shared, plain, "example.com/App: no object has the reason Starting"},
		{own + `,"Starting"`, shared, excusing("Starting"), ""},
		{own, shared, excusing("Starting"), "Starting is excused (it is gone at once), and is not declared"},
		{own, shared, excusing("Running"), "Running is excused (it is gone at once), and is in an object"},
		{`"ImageNotFound"`, shared, plain, "an object has the reason Running, which no operator writes"},
		{`"ImageNotFound"`, shared, strings.Replace(plain, "{}", "{reported: [Running]}", 1), ""},
		{`"ImageNotFound"`, shared + `,"Running"`, plain, ""},
		{own, shared + `,"Timeout"`, plain, "every kind: no object has the reason Timeout"},
		{own, shared, "every kind: {}", "has no rules"},
		{own, shared, "example.com/App: {code: [src]}", "unknown field"},
	} {
		if found := judged(t, one.own, one.shared, one.rules); (one.words == "") != (found == "") || !strings.Contains(found, one.words) {
			t.Errorf("%s: %q, and wanted was %q", one.rules, found, one.words)
		}
	}
}
