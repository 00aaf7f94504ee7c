package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const code = `
fn reason() -> &'static str { if stalled() { "ImageNotFound" } else { "Running" } }
fn text() -> &'static str { "not a reason" }
#[cfg(test)]
mod tests { const ONLY_IN_TESTS: &str = "Invented"; }
`

// judged runs the command on a kind whose code and rules are these.
func judged(t *testing.T, code, rule string) string {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "src/app/plan.rs"), code)
	put(t, filepath.Join(root, "src/app/tests/world.rs"), `"Imagined"`)
	put(t, filepath.Join(root, "health/example.com/App/health.lua"), "")
	put(t, filepath.Join(root, "health/example.com/App/testdata/ready.yaml"), object(ready))
	put(t, filepath.Join(root, "health/example.com/App/testdata/stalled.yaml"), object(stalled))
	rules := put(t, filepath.Join(root, "rules.yaml"), "example.com/App: {code: [src/app]"+rule+"}")
	err := reasons([]string{"--rules", rules, "--code", root, filepath.Join(root, "health")})
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestReasonsOfTheCodeAreThoseOfTheObjects(t *testing.T) {
	for _, one := range []struct{ code, rule, words string }{
		{code, "", ""},
		{code + `"Starting"`, "", ""},
		{`"Starting" ` + code, "", "no object has the reason Starting"},
		{`"Starting" ` + code, ", excused: {it is gone at once: [Starting]}", ""},
		{code, ", excused: {it is gone at once: [Starting]}", "Starting is excused (it is gone at once), and is not in the code"},
		{code, ", excused: {it is gone at once: [Running]}", "Running is excused (it is gone at once), and is in an object"},
		{strings.Replace(code, "Running", "Serving", 1), "", "an object has the reason Running, which the code cannot write"},
		{strings.Replace(code, `"Running"`, "RUNNING", 1), ", beside: [Running]", ""},
		{code, ", cod: [src]", "unknown field"},
	} {
		if found := judged(t, one.code, one.rule); (one.words == "") != (found == "") || !strings.Contains(found, one.words) {
			t.Errorf("%s%s: %q, and wanted was %q", one.code, one.rule, found, one.words)
		}
	}
}
