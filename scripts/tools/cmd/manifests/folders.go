package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Folder is a folder with a kustomization.yaml, by its path in the repository.
type Folder struct {
	Path string
	// The part of the file that the checks read.
	Kind         string        `yaml:"kind"`
	Resources    []string      `yaml:"resources"`
	Components   []string      `yaml:"components"`
	Images       []Image       `yaml:"images"`
	Patches      []Patch       `yaml:"patches"`
	Replacements []Replacement `yaml:"replacements"`
	// All of it, for the names of its fields.
	Fields map[string]any `yaml:",inline"`
}

// Image is an entry of `images`.
type Image struct {
	Name    string `yaml:"name"`
	NewName string `yaml:"newName"`
	NewTag  string `yaml:"newTag"`
	Digest  string `yaml:"digest"`
}

// Patch is an entry of `patches`.
type Patch struct {
	Path   string    `yaml:"path"`
	Patch  string    `yaml:"patch"`
	Target *Selector `yaml:"target"`
}

// Replacement is an entry of `replacements`, or what a file of them has.
type Replacement struct {
	Path    string `yaml:"path"`
	Targets []struct {
		Select Selector `yaml:"select"`
	} `yaml:"targets"`
}

// What kustomize itself calls deprecated, each with what takes its place.
var deprecated = map[string]string{
	"bases":                 "resources",
	"commonLabels":          "labels",
	"imageTags":             "images",
	"patchesJson6902":       "patches",
	"patchesStrategicMerge": "patches",
	"vars":                  "replacements",
}

func (f *Folder) isComponent() bool { return f.Kind == "Component" }

// folders finds every kustomization of the project.
func (p *Project) folders() ([]*Folder, error) {
	var folders []*Folder
	for _, top := range []string{"config", "kustomize"} {
		err := filepath.WalkDir(filepath.Join(p.Root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || entry.Name() != "kustomization.yaml" {
				return err
			}
			relative, err := filepath.Rel(p.Root, filepath.Dir(path))
			if err != nil {
				return err
			}
			folder, err := readFolder(path, relative)
			folders = append(folders, folder)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return folders, nil
}

func readFolder(file, path string) (*Folder, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	folder := &Folder{Path: path}
	return folder, yaml.Unmarshal(text, folder)
}

// checkFolder checks the file itself, before anything is built.
func (p *Project) checkFolder(report *Report, folder *Folder) {
	for field, instead := range deprecated {
		if _, used := folder.Fields[field]; used {
			report.add(folder.Path, "the field %s is deprecated: %s takes its place", field, instead)
		}
	}
	if generators, used := folder.Fields["secretGenerator"]; used {
		report.add(folder.Path, "secretGenerator would put a secret into git: %v", names(generators))
	}
	for _, component := range folder.Components {
		at := filepath.Join(p.Root, folder.Path, component)
		named, err := readFolder(filepath.Join(at, "kustomization.yaml"), component)
		switch {
		case remote(component):
		case err != nil:
			report.add(folder.Path, "names the component %s, and there is none: there are %s", component, p.knownComponents())
		case !named.isComponent():
			report.add(folder.Path, "names %s as a component, and it is none: its kind is not Component", component)
		}
	}
	for _, resource := range folder.Resources {
		if _, err := os.Stat(filepath.Join(p.Root, folder.Path, resource)); err != nil && !remote(resource) {
			report.add(folder.Path, "names the resource %s, and there is no such file or directory", resource)
		}
	}
}

func (p *Project) knownComponents() string {
	var known []string
	entries, _ := os.ReadDir(filepath.Join(p.Root, "kustomize/components"))
	for _, entry := range entries {
		known = append(known, entry.Name())
	}
	slices.Sort(known)
	return strings.Join(known, ", ")
}

func remote(resource string) bool {
	return strings.Contains(resource, "://") || strings.Contains(resource, "?ref=")
}

func names(generators any) []any {
	var found []any
	list, _ := generators.([]any)
	for _, entry := range list {
		if fields, ok := entry.(map[string]any); ok {
			found = append(found, fields["name"])
		}
	}
	return found
}
