package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

type asked struct {
	url, excused, data string
	minutes            int
}

// Shown is what a panel shows, for the program that draws it.
type Shown struct {
	Panel
	Series []Line `json:"series"`
}

// Line is one of its series: pairs of time and value.
type Line struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"`
}

// askPanels asks each panel's own queries. One that returns nothing is a finding, unless it is excused, with a reason.
func askPanels(rendered *Rendered, how asked) error {
	client, err := api.NewClient(api.Config{Address: how.url})
	if err != nil {
		return err
	}
	excuses, err := readExcuses(how.excused)
	if err != nil {
		return err
	}
	var findings []string
	all := map[string][]Shown{}
	for _, dashboard := range rendered.Dashboards {
		for _, panel := range dashboard.Panels {
			shown, err := ask(prometheus.NewAPI(client), panel, how.minutes)
			name := dashboard.Title + " / " + panel.Title
			why, excused := excuses[name]
			switch {
			case err != nil:
				findings = append(findings, name+": "+err.Error())
			case excused && len(shown.Series) == 0:
				fmt.Fprintf(os.Stderr, "excused: %s: %s\n", name, why)
			case len(shown.Series) == 0:
				findings = append(findings, name+": there are no data")
			}
			delete(excuses, name)
			all[dashboard.File] = append(all[dashboard.File], shown)
		}
	}
	for name := range excuses {
		findings = append(findings, name+": is excused, and there is no such panel")
	}
	if how.data != "" {
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		if err := os.WriteFile(how.data, text, 0o600); err != nil {
			return err
		}
	}
	return report(findings)
}

func ask(server prometheus.API, panel Panel, minutes int) (Shown, error) {
	shown := Shown{Panel: panel}
	within, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	now := time.Now()
	span := prometheus.Range{Start: now.Add(-time.Duration(minutes) * time.Minute), End: now}
	span.Step = max(span.End.Sub(span.Start)/300, time.Second)
	for _, target := range panel.Targets {
		if target.Instant {
			value, warnings, err := server.Query(within, target.expression(), now)
			if err != nil || len(warnings) > 0 {
				return shown, errors.Join(err, told(warnings))
			}
			vector, _ := value.(model.Vector)
			for _, sample := range vector {
				shown.Series = append(shown.Series, line(target, sample.Metric, []model.SamplePair{{Timestamp: sample.Timestamp, Value: sample.Value}}))
			}
			continue
		}
		value, warnings, err := server.QueryRange(within, target.expression(), span)
		if err != nil || len(warnings) > 0 {
			return shown, errors.Join(err, told(warnings))
		}
		matrix, _ := value.(model.Matrix)
		for _, series := range matrix {
			if found := line(target, series.Metric, series.Values); len(found.Points) > 0 {
				shown.Series = append(shown.Series, found)
			}
		}
	}
	return shown, nil
}

func told(warnings prometheus.Warnings) error {
	if len(warnings) == 0 {
		return nil
	}
	return errors.New(strings.Join(warnings, "; "))
}

// line names a series as the panel's legend does; a table shows all its labels. What is not a number is no point.
func line(target Target, metric model.Metric, pairs []model.SamplePair) Line {
	name := target.LegendFormat
	for label, value := range metric {
		name = strings.ReplaceAll(name, "{{"+string(label)+"}}", string(value))
	}
	if name == "" && len(metric) > 0 {
		name = metric.String()
	}
	found := Line{Name: name}
	for _, pair := range pairs {
		if value := float64(pair.Value); !math.IsNaN(value) && !math.IsInf(value, 0) {
			found.Points = append(found.Points, [2]float64{float64(pair.Timestamp) / 1000, value})
		}
	}
	return found
}

// readExcuses reads lines such as `multi-operator / Manager / Queue: why`.
func readExcuses(path string) (map[string]string, error) {
	excuses := map[string]string{}
	if path == "" {
		return excuses, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		name, why, found := strings.Cut(text, ": ")
		if !found || len(why) < 10 {
			return nil, fmt.Errorf("%s: %q does not say why", path, text)
		}
		excuses[name] = why
	}
	return excuses, lines.Err()
}
