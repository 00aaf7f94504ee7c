package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// noticeable is the change of a test or stage, in seconds, below which a comparison keeps quiet.
const noticeable = 2.0

// printComparison says what changed from one run to another: stages, tests by name, and the sums.
func printComparison(people io.Writer, before, after Run) {
	fmt.Fprintf(people, "before: commit %s, %d tests, %.0f s\nafter:  commit %s, %d tests, %.0f s\n",
		before.Commit, len(before.Tests), before.wall(), after.Commit, len(after.Tests), after.wall())
	changed(people, "stages", before.stageSeconds(), after.stageSeconds())
	changed(people, "tests", before.testSeconds(), after.testSeconds())
}

func (r *Run) wall() float64 {
	var end float64
	for _, stage := range r.Stages {
		end = max(end, stage.End)
	}
	return end
}

func (r *Run) stageSeconds() map[string]float64 {
	seconds := map[string]float64{}
	for _, stage := range r.Stages {
		seconds[stage.Name] = stage.seconds()
	}
	return seconds
}

// testSeconds leaves out ignored tests: a test that stopped running counts as removed.
func (r *Run) testSeconds() map[string]float64 {
	seconds := map[string]float64{}
	for _, test := range r.Tests {
		if test.Result != "ignored" {
			seconds[test.Suite+" "+test.Name] = test.Seconds
		}
	}
	return seconds
}

func changed(people io.Writer, what string, before, after map[string]float64) {
	var both []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := after[name]; !still {
			fmt.Fprintf(people, "only before: %s\n", name)
		} else if math.Abs(after[name]-before[name]) >= noticeable {
			both = append(both, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, known := before[name]; !known {
			fmt.Fprintf(people, "only after:  %s\n", name)
		}
	}
	slices.SortStableFunc(both, func(a, b string) int {
		return cmp.Compare(math.Abs(after[b]-before[b]), math.Abs(after[a]-before[a]))
	})
	fmt.Fprintf(people, "%s that changed by %.0f s or more: %d\n", what, noticeable, len(both))
	for _, name := range both {
		fmt.Fprintf(people, "%+9.1f s  %7.1f -> %-7.1f %s\n", after[name]-before[name], before[name], after[name], name)
	}
}
