package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

// read feeds events to a reader whose clock moves on by one second with each line.
func read(t *testing.T, suite, events string) (people, records string, err error) {
	t.Helper()
	var out, files bytes.Buffer
	r := newReader(suite, &out, &files)
	clock := time.Unix(0, 0)
	r.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	err = r.finish()
	return out.String(), files.String(), err
}

const twoTests = `{"type":"binary","name":"runtime"}
{ "type": "suite", "event": "started", "test_count": 2 }
{ "type": "test", "event": "started", "name": "queue::a" }
{ "type": "test", "event": "started", "name": "queue::b" }
{ "type": "test", "name": "queue::a", "event": "ok" }
printed by the binary
{ "type": "test", "name": "queue::b", "event": "failed", "stdout": "left\nright\n" }
{ "type": "suite", "event": "failed", "passed": 1, "failed": 1, "ignored": 0 }
`

func TestEachTestHasItsOwnSeconds(t *testing.T) {
	people, records, err := read(t, "unit", twoTests)
	for _, want := range []string{"ok         2.0 s  runtime::queue::a\n", "failed     2.0 s  runtime::queue::b\n    left\n    right\n",
		"printed by the binary\n", "unit: 1 passed, 1 failed, 0 ignored\n"} {
		if !strings.Contains(people, want) {
			t.Errorf("%q is not in\n%s", want, people)
		}
	}
	if want := `{"suite":"unit","name":"runtime::queue::b","result":"failed","seconds":2,"said":["left","right"]}`; !strings.Contains(records, want) {
		t.Errorf("%s is not in %s", want, records)
	}
	if err == nil || err.Error() != "unit: 1 tests failed" {
		t.Errorf("a failed test gives %v", err)
	}
}

func TestTheReportOfAFailedTestBeginsWhereItPanicked(t *testing.T) {
	said := []string{"before", "thread 'a' panicked at b.rs:1:1:", strings.Repeat("x", 500)}
	for range 20 {
		said = append(said, "after")
	}
	got := excerpt(said)
	if len(got) != excerptLines || got[0] != said[1] || got[1] != strings.Repeat("x", excerptWidth)+"…" {
		t.Errorf("of what it said, recorded is %q", got)
	}
	if got := excerpt(said[3:]); len(got) != excerptLines {
		t.Errorf("of what does not panic the last lines count, not %q", got)
	}
	var out bytes.Buffer
	run := Run{Tests: []Test{{Suite: "unit", Name: "a", Result: "failed", Said: []string{"why"}}, {Suite: "unit", Name: "b", Result: "ok"}}}
	run.print(&out)
	if !strings.HasSuffix(out.String(), "\nfailed: unit  a\n    why\n") {
		t.Errorf("the report ends with %q", out.String())
	}
}

func TestTheFirstReportOfAStartCounts(t *testing.T) {
	_, records, _ := read(t, "processes", `{"type":"binary","name":"processes"}
{"type":"test","event":"started","name":"idle"}
{"type":"test","event":"started","name":"idle"}
{"type":"test","event":"ok","name":"idle"}
{"type":"suite","event":"ok","passed":1,"failed":0,"ignored":0}
`)
	if want := `"name":"idle","result":"ok","seconds":1}`; !strings.Contains(records, want) {
		t.Errorf("%s is not in %s", want, records)
	}
}

func TestTheTestThatHasRunForTheLongestIsNoted(t *testing.T) {
	var out, files bytes.Buffer
	var noted []string
	r := newReader("unit", &out, &files)
	clock := time.Unix(0, 0)
	r.now = func() time.Time { clock = clock.Add(time.Second); return clock }
	r.oldest = func(line string) { noted = append(noted, line) }
	if err := r.read(strings.NewReader(twoTests)); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 runtime::queue::a (and 0 others)\n", "1 runtime::queue::a (and 1 others)\n", "2 runtime::queue::b (and 0 others)\n", ""}
	if !slices.Equal(noted, want) {
		t.Errorf("%q is noted", noted)
	}
}

func TestABinaryThatDiesIsAFailure(t *testing.T) {
	events := twoTests[:strings.Index(twoTests, `{ "type": "test", "name": "queue::b"`)]
	_, _, err := read(t, "unit", events)
	if err == nil || !strings.Contains(err.Error(), "runtime did not run to its end; then running: queue::b") {
		t.Errorf("a crash gives %v", err)
	}
}

func TestNothingRunIsAFailure(t *testing.T) {
	if _, _, err := read(t, "unit", ""); err == nil {
		t.Error("no binary at all passes")
	}
}

func TestTheCriticalPathFollowsTheLongestWait(t *testing.T) {
	run := Run{Stages: []Stage{
		{Name: "build", Begin: 0, End: 100},
		{Name: "cluster", Begin: 0, End: 40},
		{Name: "clippy", Needs: []string{"build"}, Begin: 100, End: 130},
		{Name: "e2e", Needs: []string{"cluster", "build"}, Begin: 100, End: 400},
	}}
	var names []string
	for _, stage := range run.criticalPath() {
		names = append(names, stage.Name)
	}
	if path := strings.Join(names, " "); path != "build e2e" {
		t.Errorf("the critical path is %q", path)
	}
}

func TestAComparisonNamesWhatVanished(t *testing.T) {
	before := Run{Tests: []Test{{Suite: "unit", Name: "kept", Result: "ok", Seconds: 10}, {Suite: "unit", Name: "lost", Result: "ok", Seconds: 1}, {Suite: "unit", Name: "ignored now", Result: "ok", Seconds: 1}}}
	after := Run{Tests: []Test{{Suite: "unit", Name: "kept", Result: "ok", Seconds: 4}, {Suite: "unit", Name: "new", Result: "ok", Seconds: 1}, {Suite: "unit", Name: "ignored now", Result: "ignored", Seconds: 0}}}
	var out bytes.Buffer
	printComparison(&out, before, after)
	for _, want := range []string{"only before: unit lost\n", "only before: unit ignored now\n", "only after:  unit new\n", "-6.0 s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
