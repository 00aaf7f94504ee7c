package main

import (
	"regexp"
	"strings"
)

// line is text that people read.
type line struct {
	number int
	text   string
}

// What Markdown quotes, and the targets of links.
var quoted = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

// linesOf is what is searched in a file of that kind.
func linesOf(kind, file, content string) []line {
	switch kind {
	case "markdown":
		return prose(file, content)
	case "literals":
		return literals(content)
	}
	var lines []line
	for index, text := range strings.Split(content, "\n") {
		lines = append(lines, line{index + 1, text})
	}
	return lines
}

// prose is Markdown without what it quotes, and docs/style.md without its tables, which quote the terms.
func prose(file, content string) []line {
	var lines []line
	fenced := false
	for index, text := range strings.Split(content, "\n") {
		if strings.HasPrefix(strings.TrimSpace(text), "```") {
			fenced = !fenced
			continue
		}
		if fenced || (file == "docs/style.md" && strings.HasPrefix(text, "|")) {
			continue
		}
		lines = append(lines, line{index + 1, quoted.ReplaceAllString(text, "")})
	}
	return lines
}

// literal is a comment, a raw string, a string or a character of Rust, so that none is taken for part of another.
var literal = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|b?r##".*?"##|b?r#".*?"#|b?r"[^"]*"|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^\\'])'`)
var tests = regexp.MustCompile(`(?m)^#\[cfg\(test\)\]\s*\n(?:#\[[^\n]*\n)*mod \w+ \{`)

// literals are the strings of a Rust file that have at least one blank, outside its tests.
func literals(content string) []line {
	if start := tests.FindStringIndex(content); start != nil {
		content = content[:start[0]]
	}
	var lines []line
	for _, span := range literal.FindAllStringIndex(content, -1) {
		text := content[span[0]:span[1]]
		if !strings.Contains(text, `"`) || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "'") || !strings.Contains(text, " ") {
			continue
		}
		first := 1 + strings.Count(content[:span[0]], "\n")
		for index, part := range strings.Split(text, "\n") {
			lines = append(lines, line{first + index, part})
		}
	}
	return lines
}
