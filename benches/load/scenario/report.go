package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"multi-operator/benches/load/measure"
)

// Figure is one thing measured for every subject.
type Figure struct {
	Scenario string               `json:"scenario"`
	Case     string               `json:"case"`
	Metric   string               `json:"metric"`
	Unit     string               `json:"unit"`
	Values   map[string][]float64 `json:"values"` // by subject, one for each run
	Medians  map[string]float64   `json:"medians"`
	Ratio    *float64             `json:"ratio,omitempty"` // of ours to the other's
}

func (f *Figure) heading() string { return strings.TrimSpace(f.Scenario + "  " + f.Case) }

// Report collects figures in the order in which they first came.
type Report struct {
	Beside  string            `json:"beside"` // the name of whom ours is compared with
	Machine map[string]string `json:"machine"`
	Notes   []string          `json:"notes"`
	Figures []*Figure         `json:"figures"`
}

// Add notes one value.
func (r *Report) Add(scenario, situation, metric, unit, subject string, value float64) {
	for _, f := range r.Figures {
		if f.Scenario == scenario && f.Case == situation && f.Metric == metric {
			f.Values[subject] = append(f.Values[subject], value)
			return
		}
	}
	r.Figures = append(r.Figures, &Figure{
		Scenario: scenario, Case: situation, Metric: metric, Unit: unit, Values: map[string][]float64{subject: {value}},
	})
}

// detail marks the lines that subjects do not share, such as one verb's.
const detail = "  per MyApp: "

// finish brings figures of one heading together, details last, and computes medians, and what ours is of the peer's.
func (r *Report) finish() {
	heading := map[string]int{}
	for i, f := range r.Figures {
		if _, known := heading[f.heading()]; !known {
			heading[f.heading()] = i
		}
	}
	slices.SortStableFunc(r.Figures, func(a, b *Figure) int {
		last := func(f *Figure) int {
			if strings.HasPrefix(f.Metric, detail) {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(heading[a.heading()], heading[b.heading()]), cmp.Compare(last(a), last(b)))
	})
	for _, f := range r.Figures {
		f.Medians = map[string]float64{}
		for subject, values := range f.Values {
			// A subject without a value is left out: JSON has no NaN.
			if m := measure.Median(values); !math.IsNaN(m) {
				f.Medians[subject] = m
			} else {
				delete(f.Values, subject)
			}
		}
		ours, have := f.Medians[Ours]
		peer, compared := f.Medians[r.Beside]
		if have && compared && peer != 0 {
			ratio := ours / peer
			f.Ratio = &ratio
		}
	}
}

// Save writes the report as JSON.
func (r *Report) Save(path string) error {
	r.finish()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Print writes the report as a table.
func (r *Report) Print(out io.Writer) error {
	r.finish()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	heading := ""
	for _, f := range r.Figures {
		if h := f.heading(); h != heading {
			if heading != "" {
				fmt.Fprintln(table)
			}
			heading = h
			fmt.Fprintf(table, "%s\tunit\t%s\t%s\tratio\n", strings.ToUpper(h), Ours, r.Beside)
		}
		ratio := ""
		if f.Ratio != nil {
			ratio = number(*f.Ratio)
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\t%s\n", f.Metric, f.Unit, cell(f, Ours), cell(f, r.Beside), ratio)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, note := range r.Notes {
		fmt.Fprintln(out, "*", note)
	}
	return nil
}

func cell(f *Figure, subject string) string {
	if value, ok := f.Medians[subject]; ok {
		return number(value)
	}
	if value, ok := f.Medians[Machine]; ok && subject == Ours {
		return number(value)
	}
	return "-"
}

// number shows three digits that matter.
func number(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if math.Abs(v) >= 10 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
