package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Selector is what patches and replacements say of the objects that they are for.
type Selector struct {
	Group     string `yaml:"group"`
	Version   string `yaml:"version"`
	Kind      string `yaml:"kind"`
	Name      string `yaml:"name"`
	Namespace string `yaml:"namespace"`
}

func (s Selector) String() string {
	return strings.Trim(strings.TrimSpace(s.Kind+" "+strings.Trim(s.Namespace+"/"+s.Name, "/")), " ")
}

// selects as kustomize does: by regular expressions that have to match completely, a name also as it was before its prefix.
func (s Selector) selects(object Object) bool {
	_, version, _ := strings.Cut(object.text("apiVersion"), "/")
	if version == "" {
		version = object.text("apiVersion")
	}
	return matches(s.Group, object.group()) && matches(s.Version, version) && matches(s.Kind, object.kind()) &&
		(matches(s.Name, object.name()) || matches(s.Name, strings.TrimPrefix(object.name(), prefix))) && matches(s.Namespace, object.namespace())
}

func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	expression, err := regexp.Compile("^(?:" + pattern + ")$")
	return err == nil && expression.MatchString(text)
}

// checkTargets finds patches and replacements that are for nothing: kustomize passes over them in silence.
func (p *Project) checkTargets(report *Report, folder *Folder, build *Build) {
	for _, patch := range folder.Patches {
		// What deletes its target leaves nothing to be found.
		if patch.Target == nil || strings.Contains(patch.Patch, "$patch: delete") {
			continue
		}
		if !some(build, *patch.Target) {
			report.add(folder.Path, "a patch is for %s, and the build has no such object", patch.Target)
		}
	}
	replacements, err := p.replacements(folder)
	if err != nil {
		report.add(folder.Path, "a file of replacements cannot be read: %s", err)
	}
	for _, replacement := range replacements {
		for _, target := range replacement.Targets {
			if !some(build, target.Select) {
				report.add(folder.Path, "a replacement is for %s, and the build has no such object: it is not resolved", target.Select)
			}
		}
	}
}

// replacements are those of the folder itself, and of the files that it names.
func (p *Project) replacements(folder *Folder) ([]Replacement, error) {
	var all []Replacement
	for _, replacement := range folder.Replacements {
		if replacement.Path == "" {
			all = append(all, replacement)
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.Root, folder.Path, replacement.Path))
		if err != nil {
			return all, err
		}
		// A file has one of them or a list.
		var list []Replacement
		if err := yaml.Unmarshal(text, &list); err != nil {
			list = make([]Replacement, 1)
			if err := yaml.Unmarshal(text, &list[0]); err != nil {
				return all, err
			}
		}
		all = append(all, list...)
	}
	return all, nil
}

func some(build *Build, selector Selector) bool {
	for _, object := range build.Objects {
		if selector.selects(object) {
			return true
		}
	}
	return false
}
