package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Event is one line of a test binary's `--format json`, or the line with which run_tests of scripts/test.d names the binary
// that follows.
type Event struct {
	Type    string `json:"type"`
	Event   string `json:"event"`
	Name    string `json:"name"`
	Stdout  string `json:"stdout"`
	Message string `json:"message"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Ignored int    `json:"ignored"`
}

// Test is a test that ran.
type Test struct {
	Suite   string  `json:"suite"`
	Name    string  `json:"name"`
	Result  string  `json:"result"`
	Seconds float64 `json:"seconds"`
	// Said is where a failed test says why, or its last lines.
	Said []string `json:"said,omitempty"`
}

// reader turns events into a line per test for people, and a record per test for files.
type reader struct {
	suite   string
	people  io.Writer
	records *json.Encoder
	now     func() time.Time

	// oldest is called with the test that has run for the longest whenever that may have changed; nothing depends on it.
	oldest func(line string)

	binary  string
	running bool
	started map[string]time.Time
	sum     struct{ passed, failed, ignored, binaries int }
	broken  []string
}

func newReader(suite string, people, records io.Writer) *reader {
	return &reader{suite: suite, people: people, records: json.NewEncoder(records), now: time.Now, started: map[string]time.Time{}, oldest: func(string) {}}
}

func (r *reader) read(input io.Reader) error {
	lines := bufio.NewReader(input)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if err := r.line(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// A line that is no event is what the binary printed itself: it is passed on.
func (r *reader) line(line string) error {
	var event Event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &event) != nil || event.Type == "" {
		fmt.Fprint(r.people, line)
		return nil
	}
	switch event.Type {
	case "binary":
		r.unfinished()
		r.binary, r.running = event.Name, true
	case "suite":
		if event.Event == "ok" || event.Event == "failed" {
			r.running = false
			r.sum.binaries++
			r.sum.passed, r.sum.failed, r.sum.ignored = r.sum.passed+event.Passed, r.sum.failed+event.Failed, r.sum.ignored+event.Ignored
		}
	case "test":
		return r.test(event)
	}
	return nil
}

func (r *reader) test(event Event) error {
	defer r.noteOldest()
	switch event.Event {
	case "started":
		// Harnesses that report a start only with the result are no loss where the test has reported its own before.
		if _, known := r.started[event.Name]; !known {
			r.started[event.Name] = r.now()
		}
		return nil
	case "ok", "failed", "ignored":
	default:
		// "timeout" only says that a test takes more than a minute.
		return nil
	}
	test := Test{Suite: r.suite, Name: r.name(event.Name), Result: event.Event}
	if begun, known := r.started[event.Name]; known {
		test.Seconds = r.now().Sub(begun).Seconds()
		delete(r.started, event.Name)
	}
	if event.Event != "ignored" {
		fmt.Fprintf(r.people, "%-6s %7.1f s  %s\n", event.Event, test.Seconds, test.Name)
	}
	var said []string
	for _, text := range []string{event.Stdout, event.Message} {
		for line := range strings.Lines(text) {
			said = append(said, strings.TrimRight(line, "\n"))
		}
	}
	for _, line := range said {
		fmt.Fprintf(r.people, "    %s\n", line)
	}
	if event.Event == "failed" {
		test.Said = excerpt(said)
	}
	return r.records.Encode(test)
}

// noteOldest notes since when the test that has run for the longest runs, its name, and how many others run.
func (r *reader) noteOldest() {
	var oldest string
	for name, begun := range r.started {
		if other, known := r.started[oldest]; !known || begun.Before(other) {
			oldest = name
		}
	}
	if oldest == "" {
		r.oldest("")
		return
	}
	r.oldest(fmt.Sprintf("%d %s (and %d others)\n", r.started[oldest].Unix(), r.name(oldest), len(r.started)-1))
}

// How much of a failed test's output is recorded: the number of lines, and of characters in each.
const (
	excerptLines = 12
	excerptWidth = 400
)

// excerpt is what a test said from where it panicked, or else its last lines.
func excerpt(said []string) []string {
	from := slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, "panicked at") })
	if from < 0 {
		from = max(0, len(said)-excerptLines)
	}
	var words []string
	for _, line := range said[from:min(len(said), from+excerptLines)] {
		if characters := []rune(line); len(characters) > excerptWidth {
			line = string(characters[:excerptWidth]) + "…"
		}
		words = append(words, line)
	}
	return words
}

func (r *reader) name(test string) string {
	if r.binary == "" || r.binary == r.suite {
		return test
	}
	return r.binary + "::" + test
}

// unfinished notes a binary that ended without its closing event: it crashed, or was killed.
func (r *reader) unfinished() {
	if !r.running {
		return
	}
	var last []string
	for name := range r.started {
		last = append(last, name)
	}
	r.broken = append(r.broken, fmt.Sprintf("%s did not run to its end; then running: %s", r.binary, strings.Join(last, ", ")))
	clear(r.started)
	r.running = false
}

// finish prints the sum, and says what is wrong with it.
func (r *reader) finish() error {
	r.unfinished()
	fmt.Fprintf(r.people, "%s: %d passed, %d failed, %d ignored\n", r.suite, r.sum.passed, r.sum.failed, r.sum.ignored)
	switch {
	case len(r.broken) > 0:
		return fmt.Errorf("%s", strings.Join(r.broken, "\n"))
	case r.sum.failed > 0:
		return fmt.Errorf("%s: %d tests failed", r.suite, r.sum.failed)
	case r.sum.binaries == 0:
		return fmt.Errorf("%s: no test binary ran", r.suite)
	}
	return nil
}
