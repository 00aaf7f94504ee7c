package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yannh/kubeconform/pkg/resource"
	"github.com/yannh/kubeconform/pkg/validator"
)

// Schemas are those of every kind, made strict: a field that a schema does not name is a fault, as it is to kubectl.
type Schemas struct {
	validator validator.Validator
	// Where kubeconform finds the schemas: files of its layout, generated from those that Kubernetes and CRDs publish.
	folder string
	// Each apiVersion and kind that has a schema.
	known map[string]bool
	// Kinds of custom resources that have no namespace.
	cluster map[string]bool
}

// How kubeconform finds the schema of a kind. Kubernetes' core group has the version in the place of a group.
const layout = "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"

// Kubernetes' own kinds without a namespace, as far as manifests have them.
var clusterKinds = []string{
	"APIService", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration", "Namespace",
	"PersistentVolume", "PriorityClass", "StorageClass", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"ValidatingWebhookConfiguration",
}

// readSchemas writes the schemas of a folder, and of our own CRDs, as kubeconform wants them, into a new folder.
func readSchemas(folder, ours string) (*Schemas, error) {
	made, err := os.MkdirTemp("", "schemas-*")
	if err != nil {
		return nil, err
	}
	s := &Schemas{folder: made, known: map[string]bool{}, cluster: map[string]bool{}}
	for _, kind := range clusterKinds {
		s.cluster[kind] = true
	}
	err = each(filepath.Join(folder, "openapi", "*.json"), s.addKubernetes)
	for _, place := range []string{filepath.Join(folder, "crds"), ours} {
		if err == nil {
			err = each(filepath.Join(place, "*.yaml"), s.addDefinitions)
		}
	}
	if err == nil {
		s.validator, err = validator.New([]string{filepath.Join(made, layout)}, validator.Opts{Strict: true})
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *Schemas) close() { os.RemoveAll(s.folder) }

func each(pattern string, add func(file string) error) error {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no schemas: no file is %s", pattern)
	}
	for _, file := range files {
		if err := add(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// add writes a schema to kubeconform's location.
func (s *Schemas) add(apiVersion, kind string, schema any) error {
	s.known[apiVersion+" "+kind] = true
	group, version, found := strings.Cut(apiVersion, "/")
	if !found {
		version = group
	}
	return s.write(filepath.Join(group, strings.ToLower(kind)+"_"+version+".json"), schema)
}

func (s *Schemas) write(name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	path := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
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
	for name, schema := range schemas {
		fields, _ := schema.(map[string]any)
		kinds, _ := fields["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range kinds {
			kind, _ := entry.(map[string]any)
			version := strings.TrimPrefix(Object(kind).text("group")+"/"+Object(kind).text("version"), "/")
			// Schemas refer to others of their document.
			reference := map[string]any{"$ref": "../openapi/" + filepath.Base(file) + "#/components/schemas/" + name}
			if err := s.add(version, Object(kind).text("kind"), reference); err != nil {
				return err
			}
		}
		tighten(schema)
	}
	return s.write(filepath.Join("openapi", filepath.Base(file)), document)
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
		if err := s.addDefinition(definition); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schemas) addDefinition(definition Object) error {
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
		if err := s.add(definition.text("spec", "group")+"/"+version.text("name"), kind, schema); err != nil {
			return err
		}
	}
	return nil
}

// tighten turns a structural schema into one of JSON: other fields than those that it names are faults, `nullable` is a type.
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
	}
}

func (s *Schemas) clusterScoped(object Object) bool { return s.cluster[object.kind()] }

// faults says how an object is not as its schema says.
func (s *Schemas) faults(object Object) []string {
	name := object.text("apiVersion") + " " + object.kind()
	if !s.known[name] {
		return []string{"there is no schema for " + name + ": is the kind right? (scripts/check-kustomize.d/schemas.txt lists where they are from)"}
	}
	text, err := json.Marshal(object)
	if err != nil {
		return []string{err.Error()}
	}
	result := s.validator.ValidateResource(resource.Resource{Bytes: text})
	switch result.Status {
	case validator.Valid:
		return nil
	case validator.Invalid:
		return places(result.Err.Error())
	}
	// kubeconform says of a schema that does not compile that there is none.
	return []string{"its schema cannot be used: " + result.Err.Error()}
}

// places are the parts of kubeconform's message, each with the field that it is about. The beginning of the message says where
// the schema is, in a directory that is deleted when the message is read.
func places(sentence string) []string {
	var faults []string
	for _, part := range strings.Split(sentence, " - at ")[1:] {
		faults = append(faults, "at "+strings.TrimSpace(part))
	}
	if len(faults) == 0 {
		return []string{sentence}
	}
	return faults
}
