package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Stage is one step of scripts/test. Times are seconds since the run began.
type Stage struct {
	Name   string   `json:"name"`
	Needs  []string `json:"needs,omitempty"`
	Result string   `json:"result"`
	Begin  float64  `json:"begin"`
	End    float64  `json:"end"`
	// CPU is the processor seconds of what the stage ran and waited for.
	CPU float64 `json:"cpu,omitempty"`
}

func (s Stage) seconds() float64 { return s.End - s.Begin }

// Run is what the timings file holds.
type Run struct {
	Commit string  `json:"commit"`
	Stages []Stage `json:"stages"`
	Tests  []Test  `json:"tests"`
}

// slowest is how many tests the report names.
const slowest = 20

// readLines reads a JSON object a line. A file that is not there holds none: nothing of that sort ran.
func readLines[T any](name string, into *[]T) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*into = append(*into, one)
	}
	return lines.Err()
}

func (r *Run) readFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("%s is not a timings file of scripts/test: %w", name, err)
	}
	return nil
}

func (r *Run) write(name string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

func (r *Run) print(people io.Writer) {
	if tests := r.slowestTests(); len(tests) > 0 {
		fmt.Fprintf(people, "\nthe %d slowest tests\n", len(tests))
		for _, test := range tests {
			fmt.Fprintf(people, "%9.1f s  %s  %s\n", test.Seconds, test.Suite, test.Name)
		}
	}
	fmt.Fprintln(people, "\nstages: seconds, begin to end, processor seconds")
	for _, stage := range r.Stages {
		fmt.Fprintf(people, "%-7s %9.1f s  %6.0f to %-6.0f  %6.0f  %s\n", stage.Result, stage.seconds(), stage.Begin, stage.End, stage.CPU, stage.Name)
	}
	critical := r.criticalPath()
	var names []string
	var end float64
	for _, stage := range critical {
		names = append(names, fmt.Sprintf("%s (%.0f s)", stage.Name, stage.seconds()))
		end = stage.End
	}
	fmt.Fprintf(people, "\ncritical path: %s; %.0f s\ncommit %s\n", strings.Join(names, " -> "), end, r.Commit)
	r.printFailed(people)
}

// printFailed repeats the failures at the end, where people read first.
func (r *Run) printFailed(people io.Writer) {
	for _, test := range r.Tests {
		if test.Result != "failed" {
			continue
		}
		fmt.Fprintf(people, "\nfailed: %s  %s\n", test.Suite, test.Name)
		for _, line := range test.Said {
			fmt.Fprintf(people, "    %s\n", line)
		}
	}
}

func (r *Run) slowestTests() []Test {
	tests := slices.Clone(r.Tests)
	slices.SortFunc(tests, func(a, b Test) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
	return tests[:min(slowest, len(tests))]
}

// criticalPath leads from the stage that ended last back through the need that it waited for longest.
func (r *Run) criticalPath() []Stage {
	named := map[string]Stage{}
	var last Stage
	for _, stage := range r.Stages {
		named[stage.Name] = stage
		if stage.End > last.End {
			last = stage
		}
	}
	var path []Stage
	for last.Name != "" {
		path = append(path, last)
		var before Stage
		for _, need := range last.Needs {
			if stage := named[need]; stage.End > before.End {
				before = stage
			}
		}
		delete(named, last.Name)
		last = before
	}
	slices.Reverse(path)
	return path
}
