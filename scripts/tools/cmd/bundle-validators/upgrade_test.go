package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const before = `
metadata: {name: apps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: App, plural: apps}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [image]
            properties:
              image: {type: string, maxLength: 20}
              replicas: {type: integer, minimum: 0, maximum: 10, default: 1}
              policy: {type: string, enum: [A, B]}
              zones: {type: array, items: {type: string}, maxItems: 3}
              note:
                type: string
                x-kubernetes-validations: [{rule: "self != 'x'"}]
`

func definition(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	read := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), read); err != nil {
		t.Fatal(err)
	}
	return read
}

// foundAfter compares the definition above with itself, one text replaced.
func foundAfter(t *testing.T, old, new string) []Finding {
	t.Helper()
	if !strings.Contains(before, old) {
		t.Fatalf("%q is not in it", old)
	}
	after := strings.Replace(before, old, new, 1)
	findings, err := compare(
		[]*apiextensionsv1.CustomResourceDefinition{definition(t, before)},
		[]*apiextensionsv1.CustomResourceDefinition{definition(t, after)},
	)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestIncompatibleChangesAreReportedWithTheirField(t *testing.T) {
	cases := []struct{ name, old, new, check, field string }{
		{"scope", "Namespaced", "Cluster", "scope", "Cluster"},
		{"a version is removed", "- name: v1", "- name: v2", "storedVersionRemoval", "v1"},
		{"a field is removed", "policy: {type: string, enum: [A, B]}", "", "existingFieldRemoval", "policy"},
		{"a field is required", "required: [image]", "required: [image, note]", "required", "spec"},
		{"a type", "image: {type: string, maxLength: 20}", "image: {type: integer}", "type", "spec.image"},
		{"a default", "default: 1", "default: 2", "default", "spec.replicas"},
		{"a default is removed", ", default: 1", "", "default", "spec.replicas"},
		{"a default is new", "enum: [A, B]", "enum: [A, B], default: A", "default", "spec.policy"},
		{"a value is removed", "[A, B]", "[A]", "enum", "spec.policy"},
		{"values are bounded", "x-kubernetes-validations: [{rule: \"self != 'x'\"}]", "enum: [a]", "enum", "spec.note"},
		{"a maximum", "maximum: 10", "maximum: 9", "maximum", "spec.replicas"},
		{"a minimum", "minimum: 0", "minimum: 1", "minimum", "spec.replicas"},
		{"a length", "maxLength: 20", "maxLength: 19", "maxLength", "spec.image"},
		{"a number of items", "maxItems: 3", "maxItems: 2", "maxItems", "spec.zones"},
		{"a pattern", "maxLength: 20", "maxLength: 20, pattern: ^a$", "pattern", "spec.image"},
		{"what no rule knows", "self != 'x'", "self != 'y'", "unhandled", "spec.note"},
	}
	for _, one := range cases {
		t.Run(one.name, func(t *testing.T) {
			for _, finding := range foundAfter(t, one.old, one.new) {
				if finding.Level == "error" && finding.Check == "olm-v1-crd-upgrade/"+one.check && strings.Contains(finding.Message, one.field) {
					return
				}
			}
			t.Fatalf("no %s with %s among %v", one.check, one.field, foundAfter(t, one.old, one.new))
		})
	}
}

func TestARemovedDefinitionIsReported(t *testing.T) {
	findings, err := compare([]*apiextensionsv1.CustomResourceDefinition{definition(t, before)}, nil)
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Message, "apps.example.com") {
		t.Fatalf("%v, %v", findings, err)
	}
}

func TestTheReleaseBeforeIsABundleOrCRDsAlone(t *testing.T) {
	folder := t.TempDir()
	if _, err := definitions(folder); err == nil || !strings.Contains(err.Error(), "no CRDs") {
		t.Fatalf("an empty directory was accepted: %v", err)
	}
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition" + before
	for _, place := range []string{"crd.yaml", "manifests/crd.yaml"} {
		place = filepath.Join(folder, place)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if read, err := definitions(folder); err != nil || len(read) != 1 || read[0].Name != "apps.example.com" {
			t.Fatalf("%v, %v", read, err)
		}
	}
}

func TestWhatBreaksNothingPasses(t *testing.T) {
	for _, change := range [][2]string{
		{"Namespaced", "Namespaced"},
		{"[A, B]", "[A, B, C]"},
		{"image: {type: string, maxLength: 20}", "image: {type: string, maxLength: 20, description: What to run.}"},
		{"policy:", "added: {type: string}\n              policy:"},
	} {
		if findings := foundAfter(t, change[0], change[1]); len(findings) != 0 {
			t.Fatalf("%q: %v", change[1], findings)
		}
	}
}
