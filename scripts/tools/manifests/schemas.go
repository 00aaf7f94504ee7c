package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schemas are those of every kind, made strict: a field that a schema does not name is a fault, as it is to kubectl.
type Schemas struct {
	compiler *jsonschema.Compiler
	// Where the schema of an apiVersion and kind is.
	locations map[string]string
	compiled  map[string]*jsonschema.Schema
	// Kinds of custom resources that have no namespace.
	cluster map[string]bool
}

// Kubernetes' own kinds without a namespace, as far as manifests have them.
var clusterKinds = []string{
	"APIService", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration", "Namespace",
	"PersistentVolume", "PriorityClass", "StorageClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"ValidatingWebhookConfiguration",
}

func readSchemas(folder, ours string) (*Schemas, error) {
	s := &Schemas{
		compiler:  jsonschema.NewCompiler(),
		locations: map[string]string{},
		compiled:  map[string]*jsonschema.Schema{},
		cluster:   map[string]bool{},
	}
	for _, kind := range clusterKinds {
		s.cluster[kind] = true
	}
	documents, err := filepath.Glob(filepath.Join(folder, "openapi", "*.json"))
	if err != nil || len(documents) == 0 {
		return nil, fmt.Errorf("%s has no openapi/*.json", folder)
	}
	for _, document := range documents {
		if err := s.addKubernetes(document); err != nil {
			return nil, fmt.Errorf("%s: %w", document, err)
		}
	}
	for _, place := range []string{filepath.Join(folder, "crds"), ours} {
		files, err := filepath.Glob(filepath.Join(place, "*.yaml"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s has no CRDs", place)
		}
		for _, file := range files {
			if err := s.addDefinitions(file); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return s, nil
}

// addKubernetes adds one of Kubernetes' own OpenAPI documents, which says of each schema which kinds it is of.
func (s *Schemas) addKubernetes(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	schemas, _ := Object(document).at("components", "schemas").(map[string]any)
	location := "file:///kubernetes/" + filepath.Base(file)
	for name, schema := range schemas {
		fields, _ := schema.(map[string]any)
		kinds, _ := fields["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range kinds {
			kind, _ := entry.(map[string]any)
			version := strings.TrimPrefix(Object(kind).text("group")+"/"+Object(kind).text("version"), "/")
			s.locations[version+" "+Object(kind).text("kind")] = location + "#/components/schemas/" + name
		}
		tighten(schema)
	}
	return s.compiler.AddResource(location, document)
}

// addDefinitions adds what the CRDs of a file define.
func (s *Schemas) addDefinitions(file string) error {
	documents, err := os.Open(file)
	if err != nil {
		return err
	}
	defer documents.Close()
	definitions, err := objectsOf(documents)
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if definition.kind() != "CustomResourceDefinition" {
			continue
		}
		kind := definition.text("spec", "names", "kind")
		if definition.text("spec", "scope") == "Cluster" {
			s.cluster[kind] = true
		}
		versions, _ := definition.at("spec", "versions").([]any)
		for _, entry := range versions {
			fields, _ := entry.(map[string]any)
			version := Object(fields)
			schema, _ := version.at("schema", "openAPIV3Schema").(map[string]any)
			if properties, ok := schema["properties"].(map[string]any); ok {
				// A CRD need not say these, and they are in every object.
				properties["apiVersion"], properties["kind"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}
				properties["metadata"] = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
			}
			tighten(schema)
			name := definition.text("spec", "group") + "/" + version.text("name") + " " + kind
			location := "file:///crds/" + strings.ReplaceAll(name, " ", "/") + ".json"
			if err := s.compiler.AddResource(location, plain(schema)); err != nil {
				return err
			}
			s.locations[name] = location
		}
	}
	return nil
}

// plain makes numbers what JSON has.
func plain(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var read any
	_ = json.Unmarshal(text, &read)
	return read
}

// tighten makes a structural schema one of JSON: other fields than those that it names are faults, `nullable` is a type.
func tighten(value any) {
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			tighten(inner)
		}
	case map[string]any:
		for _, inner := range value {
			tighten(inner)
		}
		_, fields := value["properties"].(map[string]any)
		_, more := value["additionalProperties"]
		if fields && !more && value["x-kubernetes-preserve-unknown-fields"] != true && value["type"] == "object" {
			value["additionalProperties"] = false
		}
		if value["nullable"] == true {
			if kind, ok := value["type"].(string); ok {
				value["type"] = []any{kind, "null"}
			}
			if values, ok := value["enum"].([]any); ok {
				value["enum"] = append(values, nil)
			}
		}
		// The library would take Go's expressions for ECMAScript's, and formats are Kubernetes' own.
		if _, isText := value["format"].(string); isText {
			delete(value, "format")
		}
	}
}

func (s *Schemas) clusterScoped(object Object) bool { return s.cluster[object.kind()] }

// faults says how an object is not as its schema says.
func (s *Schemas) faults(object Object) []string {
	name := object.text("apiVersion") + " " + object.kind()
	location, found := s.locations[name]
	if !found {
		return []string{"there is no schema for " + name + ": is the kind right? (scripts/check-kustomize.d/schemas.txt lists where they are from)"}
	}
	schema := s.compiled[name]
	if schema == nil {
		var err error
		if schema, err = s.compiler.Compile(location); err != nil {
			return []string{"its schema is none: " + err.Error()}
		}
		s.compiled[name] = schema
	}
	err := schema.Validate(plain(map[string]any(object)))
	if err == nil {
		return nil
	}
	// The first line says where the schema is, which is nobody's business.
	var faults []string
	for _, line := range strings.Split(err.Error(), "\n")[1:] {
		faults = append(faults, strings.TrimPrefix(strings.TrimSpace(line), "- "))
	}
	return faults
}
