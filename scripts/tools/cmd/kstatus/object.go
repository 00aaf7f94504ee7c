package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"
)

func readObject(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	object, err := parseObject(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return object, nil
}

// parseObject goes by JSON, as a client does: whole numbers stay whole.
func parseObject(content []byte) (*unstructured.Unstructured, error) {
	json, err := yaml.YAMLToJSON(content)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(json); err != nil {
		return nil, err
	}
	return object, nil
}

func statusOf(object *unstructured.Unstructured) (*status.Result, error) {
	return status.Compute(object)
}

// conditions of an object, by type.
func conditions(object *unstructured.Unstructured) map[string]map[string]any {
	byType := map[string]map[string]any{}
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range all {
		if condition, ok := each.(map[string]any); ok {
			name, _ := condition["type"].(string)
			byType[name] = condition
		}
	}
	return byType
}
