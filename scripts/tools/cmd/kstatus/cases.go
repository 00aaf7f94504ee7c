package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	documents "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// testCase is one document: an object in some state, and what Argo CD and kstatus must make of it.
type testCase struct {
	Name   string `json:"name"`
	Health struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
	Kstatus string `json:"kstatus"`
	// Actions has a case list all actions of its kind, or none.
	Actions map[string]availability `json:"actions"`
	Runs    map[string]outcome      `json:"runs"`
	// Object stays JSON, so that whole numbers stay whole.
	Object json.RawMessage `json:"object"`

	object *unstructured.Unstructured
	// file holds the object alone, as Argo CD's program reads it.
	file string
}

type availability string

const (
	enabled  availability = "enabled"
	disabled availability = "disabled"
)

// outcome is the result of an action on an object: a merge patch of it, or another object that it creates.
type outcome struct {
	Changes json.RawMessage `json:"changes"`
	Creates json.RawMessage `json:"creates"`
}

// kindFile has all cases of one kind. The file is named after the kind.
type kindFile struct {
	path, group, kind string
	cases             []testCase
}

func (k kindFile) name() string { return k.group + "/" + k.kind }

// kindFiles reads all files of a folder.
func kindFiles(folder string) ([]kindFile, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("%s has no *.yaml: %w", folder, err)
	}
	var files []kindFile
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := parseKindFile(path, content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func parseKindFile(path string, content []byte) (kindFile, error) {
	file := kindFile{path: path, kind: strings.TrimSuffix(filepath.Base(path), ".yaml")}
	reader := documents.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	known := map[string]bool{}
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return file, err
		}
		if isEmpty(document) {
			continue
		}
		each, err := parseCase(document)
		if err != nil {
			return file, fmt.Errorf("document %d (%s): %w", number, each.Name, err)
		}
		if known[each.Name] {
			return file, fmt.Errorf("two documents have the name %s", each.Name)
		}
		known[each.Name] = true
		file.cases = append(file.cases, each)
	}
	if len(file.cases) == 0 {
		return file, errors.New("the file has no documents")
	}
	file.group = file.cases[0].object.GroupVersionKind().Group
	return file, file.checkKinds()
}

// isEmpty reports whether a document has nothing but comments, as the one at the top of a file.
func isEmpty(document []byte) bool {
	var content any
	return yaml.Unmarshal(document, &content) == nil && content == nil
}

// Names become names of files, and must not lead elsewhere.
var caseName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parseCase reads one document; an unknown key is a mistake.
func parseCase(document []byte) (each testCase, err error) {
	if err := yaml.UnmarshalStrict(document, &each); err != nil {
		return each, err
	}
	if !caseName.MatchString(each.Name) {
		return each, fmt.Errorf("the name must match %s", caseName)
	}
	for action, available := range each.Actions {
		if available != enabled && available != disabled {
			return each, fmt.Errorf("the action %s must be %s or %s", action, enabled, disabled)
		}
	}
	for action, outcome := range each.Runs {
		if (outcome.Changes == nil) == (outcome.Creates == nil) {
			return each, fmt.Errorf("the run of %s must have either changes or creates", action)
		}
	}
	if each.Object == nil {
		return each, errors.New("there is no object")
	}
	each.object, err = parseObject(each.Object)
	return each, err
}

func (k kindFile) checkKinds() error {
	for _, each := range k.cases {
		if found := each.object.GroupVersionKind(); found.Kind != k.kind || found.Group != k.group {
			return fmt.Errorf("%s: the object is a %s of the group %s, in the file of %s", each.Name, found.Kind, found.Group, k.name())
		}
	}
	return nil
}

// writeObjects gives each case a file with its object alone below a folder.
func (k kindFile) writeObjects(folder string) error {
	folder = filepath.Join(folder, k.kind)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for i := range k.cases {
		each := &k.cases[i]
		each.file = filepath.Join(folder, each.Name+".json")
		if err := os.WriteFile(each.file, each.Object, 0o600); err != nil {
			return err
		}
	}
	return nil
}
