package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// customizations are the kinds that a ConfigMap argocd-cm has Lua for, as group/kind, with the names of their actions.
type customizations map[string][]string

func readCustomizations(file string) (customizations, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var config struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	found := customizations{}
	for key, value := range config.Data {
		kind, ofHealth := strings.CutPrefix(key, "resource.customizations.health.")
		kind, ofActions := strings.CutPrefix(kind, "resource.customizations.actions.")
		if !ofHealth && !ofActions {
			continue
		}
		kind = strings.Replace(kind, "_", "/", 1)
		var names []string
		if ofActions {
			if names, err = actionNames(value); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, key, err)
			}
		}
		found[kind] = append(found[kind], names...)
	}
	return found, nil
}

func actionNames(text string) ([]string, error) {
	var actions struct {
		Definitions []struct {
			Name string `json:"name"`
		} `json:"definitions"`
	}
	if err := yaml.Unmarshal([]byte(text), &actions); err != nil {
		return nil, err
	}
	var names []string
	for _, definition := range actions.Definitions {
		names = append(names, definition.Name)
	}
	return names, nil
}

// unmatched complains of kinds that have Lua and no file, and of files whose kind has no Lua.
func (c customizations) unmatched(files []kindFile) (wrong []error) {
	tested := map[string]bool{}
	for _, file := range files {
		tested[file.name()] = true
		if _, known := c[file.name()]; !known {
			wrong = append(wrong, fmt.Errorf("%s: Argo CD's ConfigMap has no Lua for %s", file.path, file.name()))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(c)) {
		if !tested[kind] {
			wrong = append(wrong, fmt.Errorf("no file has objects of %s", kind))
		}
	}
	return wrong
}
