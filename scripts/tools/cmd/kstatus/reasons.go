package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rules say, by kind, where the code that writes its conditions is, and which words in it need no object.
type rules map[string]struct {
	// Folders of the code; what is of tests is left out.
	Code []string `json:"code"`
	// Folders of code that several kinds share: whose reasons are in the objects of one of them is enough.
	Shared []string `json:"shared"`
	// Reasons that are not in the code as words.
	Beside []string `json:"beside"`
	// Words that are in no object, by why.
	Excused map[string][]string `json:"excused"`
}

func reasons(arguments []string) error {
	flags := flag.NewFlagSet("reasons", flag.ExitOnError)
	file := flags.String("rules", "", "where the code is, and what is excused")
	code := flags.String("code", "", "the folder that the rules' folders are in")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 || *file == "" || *code == "" {
		return errors.New("reasons needs --rules, --code and a folder")
	}
	rules, err := testFile[rules](filepath.Dir(*file), filepath.Base(*file))
	if err != nil {
		return err
	}
	folders, err := kindFolders(flags.Arg(0))
	if err != nil {
		return err
	}
	var wrong []string
	for _, folder := range folders {
		rule, known := rules[folder.name()]
		if !known {
			return fmt.Errorf("%s has no rules for %s", *file, folder.name())
		}
		written, err := wordsOf(*code, rule.Code)
		if err != nil {
			return err
		}
		shared, err := wordsOf(*code, rule.Shared)
		if err != nil {
			return err
		}
		for _, word := range rule.Beside {
			written[word] = true
		}
		shown, err := shownReasons(folder)
		if err != nil {
			return err
		}
		found := compare(folder.name(), written, shared, shown, rule.Excused)
		fmt.Printf("%s: %d reasons in its objects, %d words of its code are none or are excused\n", folder.name(),
			len(shown), excused(rule.Excused))
		wrong = append(wrong, found...)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d wrong\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	return nil
}

func excused(why map[string][]string) (count int) {
	for _, words := range why {
		count += len(words)
	}
	return count
}

func compare(kind string, written, shared, shown map[string]bool, reasons map[string][]string) (wrong []string) {
	without := map[string]bool{}
	for why, words := range reasons {
		for _, word := range words {
			without[word] = true
			switch {
			case shown[word]:
				wrong = append(wrong, fmt.Sprintf("%s: %s is excused (%s), and is in an object", kind, word, why))
			case !written[word]:
				wrong = append(wrong, fmt.Sprintf("%s: %s is excused (%s), and is not in the code", kind, word, why))
			}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(written)) {
		if !shown[word] && !without[word] {
			wrong = append(wrong, fmt.Sprintf("%s: no object has the reason %s, and nothing excuses it", kind, word))
		}
	}
	for _, word := range slices.Sorted(maps.Keys(shown)) {
		if !written[word] && !shared[word] {
			wrong = append(wrong, fmt.Sprintf("%s: an object has the reason %s, which the code cannot write", kind, word))
		}
	}
	return wrong
}

// A word as reasons are written; all of them are looked at, so that a new one cannot hide.
var word = regexp.MustCompile(`"([A-Z][A-Za-z]*[a-z][A-Za-z]*)"`)

func wordsOf(root string, folders []string) (map[string]bool, error) {
	words := map[string]bool{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".rs") || ofTests(path) {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			code, _, _ := strings.Cut(string(content), "#[cfg(test)]")
			for _, found := range word.FindAllStringSubmatch(code, -1) {
				words[found[1]] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return words, nil
}

func ofTests(path string) bool {
	return strings.Contains(path, "/tests") || strings.HasSuffix(path, "tests.rs") || strings.Contains(path, "/testing")
}

// shownReasons are those of the summary of each object: the reasons by which it is judged.
func shownReasons(folder kindFolder) (map[string]bool, error) {
	files, err := objects(folder.path)
	if err != nil {
		return nil, err
	}
	shown := map[string]bool{}
	for _, file := range files {
		object, err := readObject(filepath.Join(folder.path, file))
		if err != nil {
			return nil, err
		}
		all := conditions(object)
		for _, name := range []string{"Ready", "Reconciling", "Stalled", "Conflict"} {
			if reason, ok := all[name]["reason"].(string); ok {
				shown[reason] = true
			}
		}
	}
	return shown, nil
}
