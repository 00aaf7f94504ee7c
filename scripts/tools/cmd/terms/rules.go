package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rules are docs/terms.yaml.
type rules struct {
	Places     map[string]place `yaml:"places"`
	Terms      []term           `yaml:"terms"`
	Exceptions []exception      `yaml:"exceptions"`
}

type place struct {
	// Kind is markdown, text or literals.
	Kind  string   `yaml:"kind"`
	Files []string `yaml:"files"`
}

type term struct {
	// Row is the left cell of the row in docs/style.md; the right one is what a report recommends.
	Row      string   `yaml:"row"`
	Patterns []string `yaml:"patterns"`
	// NotIn are places with texts that are not rewritten yet.
	NotIn []string `yaml:"notIn"`
	use   string
	words *regexp.Regexp
}

type exception struct {
	File string `yaml:"file"`
	// Text is part of a line in which terms are allowed.
	Text string `yaml:"text"`
	Why  string `yaml:"why"`
}

// readRules joins the list to the table: a row without an entry is an error, and so is an entry without a row.
func readRules(content []byte, table map[string]string) (*rules, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	decoder.KnownFields(true)
	var read rules
	if err := decoder.Decode(&read); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for index := range read.Terms {
		term := &read.Terms[index]
		use, listed := table[term.Row]
		if !listed {
			return nil, fmt.Errorf("the table of docs/style.md has no row %q", term.Row)
		}
		seen[term.Row], term.use = true, use
		for _, name := range term.NotIn {
			if _, known := read.Places[name]; !known {
				return nil, fmt.Errorf("row %q: there is no place %q", term.Row, name)
			}
		}
		if len(term.Patterns) > 0 {
			words, err := regexp.Compile(`(?i)\b(` + strings.Join(term.Patterns, "|") + `)\b`)
			if err != nil {
				return nil, fmt.Errorf("row %q: %w", term.Row, err)
			}
			term.words = words
		}
	}
	for row := range table {
		if !seen[row] {
			return nil, fmt.Errorf("no entry for the row %q of docs/style.md", row)
		}
	}
	for name, place := range read.Places {
		if !slices.Contains([]string{"markdown", "text", "literals"}, place.Kind) {
			return nil, fmt.Errorf("place %s: unknown kind %q", name, place.Kind)
		}
	}
	for _, exception := range read.Exceptions {
		if exception.File == "" || exception.Text == "" || exception.Why == "" {
			return nil, fmt.Errorf("an exception needs file, text and why: %+v", exception)
		}
	}
	return &read, nil
}

func (r *rules) placeNames() []string {
	names := map[string]bool{}
	for name := range r.Places {
		names[name] = true
	}
	return sorted(names)
}

// search reports what it finds in the lines, and notes the exceptions that it used.
func (r *rules) search(place, file string, lines []line, used map[int]bool) []string {
	var found []string
	for _, line := range lines {
		for _, term := range r.Terms {
			if term.words == nil || slices.Contains(term.NotIn, place) {
				continue
			}
			match := term.words.FindString(line.text)
			if match == "" || r.excepted(file, line.text, used) {
				continue
			}
			found = append(found, fmt.Sprintf("%s:%d: '%s': use %s", file, line.number, match, term.use))
		}
	}
	return found
}

func (r *rules) excepted(file, text string, used map[int]bool) bool {
	for index, exception := range r.Exceptions {
		if exception.File == file && strings.Contains(text, exception.Text) {
			used[index] = true
			return true
		}
	}
	return false
}

// tableOf is the table below "## Terms": the right cells by the left ones.
func tableOf(style string) map[string]string {
	table := map[string]string{}
	_, section, _ := strings.Cut(style, "\n## Terms\n")
	section, _, _ = strings.Cut(section, "\n##")
	for _, row := range strings.Split(section, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || strings.Contains(row, "---") || strings.TrimSpace(cells[1]) == "avoid" {
			continue
		}
		table[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
	}
	return table
}

func sorted(set map[string]bool) []string {
	var all []string
	for one := range set {
		all = append(all, one)
	}
	slices.Sort(all)
	return all
}
