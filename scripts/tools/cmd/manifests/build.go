package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Build is kustomize's result for a directory.
type Build struct {
	Name    string
	Objects []Object
}

// Object is one of them.
type Object map[string]any

func (o Object) text(path ...string) string {
	text, _ := o.at(path...).(string)
	return text
}

func (o Object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, key := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[key]
	}
	return value
}

func (o Object) kind() string      { return o.text("kind") }
func (o Object) name() string      { return o.text("metadata", "name") }
func (o Object) namespace() string { return o.text("metadata", "namespace") }

func (o Object) group() string {
	group, _, found := strings.Cut(o.text("apiVersion"), "/")
	if !found {
		return ""
	}
	return group
}

func (o Object) String() string {
	if o.namespace() == "" {
		return o.kind() + " " + o.name()
	}
	return o.kind() + " " + o.namespace() + "/" + o.name()
}

// build runs kustomize on a directory of the repository. Output on stderr is a finding, with or without an error.
func (p *Project) build(report *Report, name, path string) *Build {
	command := exec.Command(p.Kustomize, "build", path)
	command.Dir = p.Root
	var output, said bytes.Buffer
	command.Stdout, command.Stderr = &output, &said
	err := command.Run()
	if words := strings.TrimSpace(said.String()); err != nil {
		report.add(name, "does not build: %s", words)
		return nil
	} else if words != "" {
		report.add(name, "builds, but with a warning: %s", words)
	}
	objects, err := objectsOf(&output)
	if err != nil {
		report.add(name, "what it builds cannot be read: %s", err)
		return nil
	}
	return &Build{Name: name, Objects: objects}
}

func objectsOf(documents io.Reader) ([]Object, error) {
	var objects []Object
	decoder := yaml.NewDecoder(documents)
	for {
		// Not an Object: the library would make every map inside of it one, too.
		var object map[string]any
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case object != nil:
			objects = append(objects, object)
		}
	}
}

// buildComponents builds an overlay of its own, of the base and these components.
func (p *Project) buildComponents(report *Report, name string, components ...*Folder) *Build {
	overlay, err := os.MkdirTemp(filepath.Join(p.Root, "kustomize"), ".check-")
	if err != nil {
		report.add(name, "%s", err)
		return nil
	}
	defer os.RemoveAll(overlay)
	var text strings.Builder
	fmt.Fprintln(&text, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\ncomponents:")
	for _, component := range components {
		fmt.Fprintf(&text, "- ../../%s\n", component.Path)
	}
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text.String()), 0o600); err != nil {
		report.add(name, "%s", err)
		return nil
	}
	relative, _ := filepath.Rel(p.Root, overlay)
	return p.build(report, name, relative)
}
