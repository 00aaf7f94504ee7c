package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// definitions reads the CRDs of a bundle, or of a folder with nothing but their files: commits from before there was a bundle
// have no more. A folder without any would make every change a safe one, so that is an error.
func definitions(folder string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.yaml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		if files, err = filepath.Glob(filepath.Join(folder, "*.yaml")); err != nil {
			return nil, err
		}
	}
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		read, err := definitionsOf(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = append(found, read...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no CRDs", folder)
	}
	return found, nil
}

func definitionsOf(file string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(opened, 4096)
	var found []*apiextensionsv1.CustomResourceDefinition
	for {
		// Other kinds have nothing in common with it but these fields, and are left out by theirs.
		read := &apiextensionsv1.CustomResourceDefinition{}
		if err := decoder.Decode(read); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if read.Kind == "CustomResourceDefinition" {
			found = append(found, read)
		}
	}
}
