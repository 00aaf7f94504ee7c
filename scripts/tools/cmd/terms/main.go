// Command terms reports private terms in texts that people read: for each row of the table "Terms" in docs/style.md,
// docs/terms.yaml has the patterns, and says where they are searched.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
)

func main() {
	if len(os.Args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: terms (in the root of the repository; it reads docs/style.md and docs/terms.yaml)")
		os.Exit(2)
	}
	found, files, err := check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "terms:", err)
		os.Exit(2)
	}
	for _, one := range found {
		fmt.Println(one)
	}
	if len(found) > 0 {
		fmt.Printf("%d private terms; docs/style.md has the table, docs/terms.yaml the patterns and exceptions\n", len(found))
		os.Exit(1)
	}
	fmt.Printf("terms: %d files\n", files)
}

var testFile = regexp.MustCompile(`(^|[/_])tests\.rs$|/tests/`)

// check searches the repository; it returns what it found, and the number of files.
func check(root fs.FS) ([]string, int, error) {
	style, err := fs.ReadFile(root, "docs/style.md")
	if err != nil {
		return nil, 0, err
	}
	list, err := fs.ReadFile(root, "docs/terms.yaml")
	if err != nil {
		return nil, 0, err
	}
	rules, err := readRules(list, tableOf(string(style)))
	if err != nil {
		return nil, 0, fmt.Errorf("docs/terms.yaml: %w", err)
	}
	var found []string
	count := 0
	used := map[int]bool{}
	for _, name := range rules.placeNames() {
		place := rules.Places[name]
		files := map[string]bool{}
		for _, pattern := range place.Files {
			matches, err := fs.Glob(root, pattern)
			if err != nil {
				return nil, 0, err
			}
			if len(matches) == 0 {
				return nil, 0, fmt.Errorf("docs/terms.yaml: no file is called %s", pattern)
			}
			for _, match := range matches {
				if !testFile.MatchString(match) {
					files[match] = true
				}
			}
		}
		for _, file := range sorted(files) {
			content, err := fs.ReadFile(root, file)
			if err != nil {
				return nil, 0, err
			}
			count++
			found = append(found, rules.search(name, file, linesOf(place.Kind, file, string(content)), used)...)
		}
	}
	for index, exception := range rules.Exceptions {
		if !used[index] {
			found = append(found, fmt.Sprintf("docs/terms.yaml: the exception for '%s' in %s matches nothing: remove it", exception.Text, exception.File))
		}
	}
	return found, count, nil
}
