package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

const style = "# Style\n\n## Terms\n\n| avoid | use |\n|---|---|\n| anew | again; recreate |\n| rights | permissions |\n\n### More\n\n| a | b |\n|---|---|\n| c | d |\n\n## Other\n\n| term | meaning |\n|---|---|\n| x | y |\n"

const list = `
places:
  docs: {kind: markdown, files: ['docs/*.md']}
  explain: {kind: text, files: ['crd/*.yaml']}
  messages: {kind: literals, files: ['src/*.rs']}
terms:
  - {row: anew, patterns: [anew]}
  - {row: rights, patterns: ['rights?'], notIn: [messages]}
`

func repository(files map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, content := range map[string]string{
		"docs/style.md": style, "docs/terms.yaml": list, "crd/a.yaml": "a: b\n", "src/a.rs": "fn a() {}\n",
	} {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	for name, content := range files {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func TestTermsAreFoundWithLineAndReplacement(t *testing.T) {
	cases := []struct {
		name, file, content string
		want                []string
	}{
		{"prose", "docs/a.md", "# A\nThe pod is made Anew.\n", []string{"docs/a.md:2: 'Anew': use again; recreate"}},
		{"two in a line", "docs/a.md", "rights, anew\n", []string{"docs/a.md:1: 'anew': use again; recreate", "docs/a.md:1: 'rights': use permissions"}},
		{"a part of a word", "docs/a.md", "copyrights, renewed, anewly\n", nil},
		{"quotes and links", "docs/a.md", "`anew` [x](anew.md)\n```\nanew\n```\n", nil},
		{"behind a fenced block", "docs/a.md", "```\nx\n```\nanew\n", []string{"docs/a.md:4: 'anew': use again; recreate"}},
		{"a description", "crd/a.yaml", "a:\n  description: made anew\n", []string{"crd/a.yaml:2: 'anew': use again; recreate"}},
		{"a message", "src/a.rs", "fn a() {\n    fail(\"made anew\");\n}\n", []string{"src/a.rs:2: 'anew': use again; recreate"}},
		{"the second line of a message", "src/a.rs", "fail(\"it is \\\n  anew\");\n", []string{"src/a.rs:2: 'anew': use again; recreate"}},
		{"a raw message", "src/a.rs", "fail(r#\"a \"b\" anew\"#);\n", []string{"src/a.rs:1: 'anew': use again; recreate"}},
		{"not yet rewritten in messages", "src/a.rs", "fail(\"no rights here\");\n", nil},
		{"comments, names, characters, lifetimes", "src/a.rs", "// made anew \"anew b\"\nfn anew<'a>(x: &'a str) { ('\"', anew(\"anew\"), '\"') }\n", nil},
		{"a message behind an escaped quote", "src/a.rs", "let a = '\\'';\nfail(\"\\\" anew\");\n", []string{"src/a.rs:2: 'anew': use again; recreate"}},
		{"tests", "src/a.rs", "#[cfg(test)]\nmod tests {\n    fail(\"made anew\");\n}\n", nil},
		{"a file of tests", "src/a_tests.rs", "fail(\"made anew\");\n", nil},
	}
	for _, one := range cases {
		t.Run(one.name, func(t *testing.T) {
			found, _, err := check(repository(map[string]string{one.file: one.content}))
			if err != nil || strings.Join(found, "\n") != strings.Join(one.want, "\n") {
				t.Errorf("found %q, %v; want %q", found, err, one.want)
			}
		})
	}
}

func TestExceptionsAreForOneLineAndMustBeUsed(t *testing.T) {
	exception := list + "exceptions:\n  - {file: docs/a.md, text: Anew Inc, why: a name}\n"
	root := map[string]string{"docs/terms.yaml": exception, "docs/a.md": "Anew Inc\nanew\n"}
	found, _, err := check(repository(root))
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0], "docs/a.md:2:") {
		t.Errorf("%q, %v", found, err)
	}
	root["docs/a.md"] = "nothing\n"
	found, _, err = check(repository(root))
	if err != nil || len(found) != 1 || !strings.Contains(found[0], "matches nothing") {
		t.Errorf("%q, %v", found, err)
	}
}

func TestListsThatDoNotFitAreErrors(t *testing.T) {
	for _, one := range []struct{ list, want string }{
		{strings.Replace(list, "  - {row: anew, patterns: [anew]}\n", "", 1), `no entry for the row "anew"`},
		{list + "  - {row: mend, patterns: [mend]}\n", `no row "mend"`},
		{strings.Replace(list, "notIn: [messages]", "notIn: [letters]", 1), `no place "letters"`},
		{strings.Replace(list, "crd/*.yaml", "crds/*.yaml", 1), "no file is called crds/*.yaml"},
		{strings.Replace(list, "[anew]", "['(']", 1), "missing closing )"},
		{list + "exceptions:\n  - {file: docs/a.md, text: anew}\n", "needs file, text and why"},
		{list + "more: {}\n", "more"},
	} {
		_, _, err := check(repository(map[string]string{"docs/terms.yaml": one.list}))
		if err == nil || !strings.Contains(err.Error(), one.want) {
			t.Errorf("%v; want %s", err, one.want)
		}
	}
}
