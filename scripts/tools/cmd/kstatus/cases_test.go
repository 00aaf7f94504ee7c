package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileIsSplitIntoItsObjects(t *testing.T) {
	const text = `# A comment at the top is no case.
---
# Derived from another.
name: first
object: {apiVersion: example.com/v1, kind: App, metadata: {name: web, generation: 9007199254740993}}
---
name: second-of-2
object:
  apiVersion: example.com/v1beta1
  kind: App
  metadata:
    annotations:
      text: |
        a
        ---
        b
`
	file, err := parseKindFile("somewhere/App.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if file.name() != "example.com/App" || len(file.cases) != 2 {
		t.Fatalf("%s with %d cases", file.name(), len(file.cases))
	}
	if err := file.writeObjects(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for i, wanted := range []struct{ file, content string }{
		{"App/first.json", `{"apiVersion":"example.com/v1","kind":"App","metadata":{"generation":9007199254740993,"name":"web"}}`},
		{"App/second-of-2.json", `{"apiVersion":"example.com/v1beta1","kind":"App","metadata":{"annotations":{"text":"a\n---\nb\n"}}}`},
	} {
		path := file.cases[i].file
		content, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(path, wanted.file) || string(content) != wanted.content {
			t.Errorf("%s: %s, %v; wanted was %s: %s", path, content, err, wanted.file, wanted.content)
		}
	}
}

func TestACaseThatIsNotWellFormedIsAnError(t *testing.T) {
	for _, one := range []struct{ old, new, words string }{
		{"name: stalled", "name: ready", "two documents have the name ready"},
		{"name: stalled", "name: ../stalled", "the name must match"},
		{"name: stalled", "title: stalled", "unknown field"},
		{"kstatus: Failed", "kstatus: Failed\nkstatus: Current", "already set"},
		{"health: {status", "health: {state", "unknown field"},
		{"restart: disabled", "restart: true", "restart"},
		{"restart: disabled", "restart: off", "restart"},
		{"restart: disabled", "restart: no-idea", "must be enabled or disabled"},
		{"{changes: {", "{creates: {}, changes: {", "must have either changes or creates"},
		{"{changes: {metadata: {annotations: {restarted: at once}}}}", "{}", "must have either changes or creates"},
		{"kind: App", "kind: Other", "ready: the object is a Other of the group example.com, in the file of example.com/App"},
		{"example.com/v1", "v1", "in the file of /App"},
		{"object:\n", "object: web\n#", "document"},
		{"kstatus: Current", "kstatus: [", "document 2"},
		{"---\nname: stalled", "--- stalled", "invalid Yaml document separator"},
	} {
		if !strings.Contains(cases, one.old) {
			t.Fatalf("no case has %q", one.old)
		}
		if _, err := parseKindFile("App.yaml", []byte(strings.Replace(cases, one.old, one.new, 1))); err == nil || !strings.Contains(err.Error(), one.words) {
			t.Errorf("%q instead of %q: %v; wanted was %q", one.new, one.old, err, one.words)
		}
	}
	for text, words := range map[string]string{
		"":                          "no documents",
		"# nothing\n---\n":          "no documents",
		"name: ready\n":             "there is no object",
		"name: ready\nobject: {}\n": "ready",
	} {
		if _, err := parseKindFile("App.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAFolderWithoutFilesIsAnError(t *testing.T) {
	if _, err := kindFiles(t.TempDir()); err == nil {
		t.Error("nothing was tested")
	}
	folder := t.TempDir()
	put(t, filepath.Join(folder, "App.yaml"), "name: [")
	if _, err := kindFiles(folder); err == nil || !strings.Contains(err.Error(), "App.yaml: document 1") {
		t.Errorf("%v", err)
	}
}
