package measure

import (
	"strings"
	"testing"
)

func TestASumIsOfThatMetricAlone(t *testing.T) {
	page := "# HELP cpu seconds\ncpu 1.5\ncpu_total 7\nrequests{verb=\"get\"} 2\nrequests{verb=\"a b\"} 3e1\n"
	for name, want := range map[string]float64{"cpu": 1.5, "requests": 32, "absent": 0} {
		if got, err := Sum(strings.NewReader(page), name); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	if _, err := Sum(strings.NewReader("cpu lots\n"), "cpu"); err == nil {
		t.Error("what is no number was taken for one")
	}
}
