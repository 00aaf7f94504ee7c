package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// declared are the reasons that the operators can write, as `cargo xtask reasons` prints them.
type declared struct {
	// Kinds has the reasons of each kind's conditions.
	Kinds map[string]struct {
		Conditions []string `json:"conditions"`
	} `json:"kinds"`
	// Shared are the reasons that every kind can have.
	Shared []string `json:"shared"`
}

// rules say, by kind, which declared reasons need no object, by why, and which reasons of other programs an object may have.
// The name of the rule for shared reasons is everyKind.
type rules map[string]struct {
	Excused  map[string][]string `json:"excused"`
	Reported []string            `json:"reported"`
}

const everyKind = "every kind"

func reasons(arguments []string) error {
	flags := flag.NewFlagSet("reasons", flag.ExitOnError)
	rulesFile := flags.String("rules", "", "which reasons need no object")
	declaredFile := flags.String("declared", "", "the reasons that the operators can write")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() != 1 || *rulesFile == "" || *declaredFile == "" {
		return errors.New("reasons needs --rules, --declared and a directory")
	}
	rules, err := readRules(*rulesFile)
	if err != nil {
		return err
	}
	declared, err := readDeclared(*declaredFile)
	if err != nil {
		return err
	}
	kinds, err := kindFiles(flags.Arg(0))
	if err != nil {
		return err
	}
	wrong, err := judge(kinds, declared, rules)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d wrong\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	return nil
}

// judge compares the reasons of all kinds' objects with those that are declared.
func judge(kinds []kindFile, declared declared, rules rules) (wrong []string, err error) {
	shownAnywhere := map[string]bool{}
	for _, kind := range kinds {
		rule, known := rules[kind.name()]
		of, written := declared.Kinds[kind.name()]
		if !known || !written {
			return nil, fmt.Errorf("%s has no rules, or no declared reasons", kind.name())
		}
		shown := shownReasons(kind)
		maps.Copy(shownAnywhere, shown)
		wrong = append(wrong, missing(kind.name(), of.Conditions, shown, rule.Excused)...)
		elsewhere := slices.Concat(of.Conditions, declared.Shared, rule.Reported)
		for _, word := range slices.Sorted(maps.Keys(shown)) {
			if !slices.Contains(elsewhere, word) {
				wrong = append(wrong, fmt.Sprintf("%s: an object has the reason %s, which no operator writes", kind.name(), word))
			}
		}
		fmt.Printf("%s: %d reasons in its objects, %d of its own declared\n", kind.name(), len(shown), len(of.Conditions))
	}
	return append(wrong, missing(everyKind, declared.Shared, shownAnywhere, rules[everyKind].Excused)...), nil
}

// missing complains of declared reasons that no object has and nothing excuses, and of excuses without use.
func missing(name string, declared []string, shown map[string]bool, excuses map[string][]string) (wrong []string) {
	excused := map[string]bool{}
	for why, words := range excuses {
		for _, word := range words {
			excused[word] = true
			switch {
			case shown[word]:
				wrong = append(wrong, fmt.Sprintf("%s: %s is excused (%s), and is in an object", name, word, why))
			case !slices.Contains(declared, word):
				wrong = append(wrong, fmt.Sprintf("%s: %s is excused (%s), and is not declared", name, word, why))
			}
		}
	}
	for _, word := range declared {
		if !shown[word] && !excused[word] {
			wrong = append(wrong, fmt.Sprintf("%s: no object has the reason %s, and nothing excuses it", name, word))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// readRules reads the rules; an unknown key is a mistake.
func readRules(file string) (found rules, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(content, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return found, nil
}

func readDeclared(file string) (found declared, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return found, fmt.Errorf("%s: %w", file, err)
	}
	return found, nil
}

// shownReasons are those of the summary of each object: the reasons by which it is judged.
func shownReasons(kind kindFile) map[string]bool {
	shown := map[string]bool{}
	for _, each := range kind.cases {
		all := conditions(each.object)
		for _, name := range []string{"Ready", "Reconciling", "Stalled", "Conflict"} {
			if reason, ok := all[name]["reason"].(string); ok {
				shown[reason] = true
			}
		}
	}
	return shown
}
