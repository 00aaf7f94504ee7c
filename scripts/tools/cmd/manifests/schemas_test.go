package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A document as an API server publishes it for one group.
const openapi = `{"components": {"schemas": {
  "apps.Deployment": {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
    "properties": {
      "apiVersion": {"type": "string"}, "kind": {"type": "string"},
      "metadata": {"type": "object", "additionalProperties": true},
      "spec": {"allOf": [{"$ref": "#/components/schemas/apps.DeploymentSpec"}], "default": {}}
    }
  },
  "apps.DeploymentSpec": {
    "type": "object", "required": ["template"],
    "properties": {"replicas": {"type": "integer", "format": "int32"}, "template": {"type": "object", "additionalProperties": true}}
  },
  "core.Pod": {
    "type": "object",
    "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
    "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object", "additionalProperties": true}}
  }
}}}`

const theirs = `
kind: CustomResourceDefinition
spec:
  group: example.com
  scope: Cluster
  names: {kind: Policy}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const ours = `
kind: CustomResourceDefinition
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Database}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              deletion: {type: object, properties: {policy: {type: string, enum: [Delete, Retain]}}}
              size: {type: integer, minimum: 0, exclusiveMinimum: true}
              note: {type: string, nullable: true}
              wait: {type: string, format: duration}
`

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

func schemas(t *testing.T) *Schemas {
	t.Helper()
	folder := t.TempDir()
	put(t, folder+"/openapi/apis__apps__v1_openapi.json", openapi)
	put(t, folder+"/crds/policies.yaml", theirs)
	put(t, folder+"/ours/databases.yaml", ours)
	read, err := readSchemas(folder, folder+"/ours")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(read.close)
	return read
}

func object(t *testing.T, text string) Object {
	t.Helper()
	all, err := objectsOf(strings.NewReader(text))
	if err != nil || len(all) != 1 {
		t.Fatalf("%d objects: %v", len(all), err)
	}
	return all[0]
}

func TestFaultsAreReportedWithTheirFields(t *testing.T) {
	s := schemas(t)
	const database = "{apiVersion: example.com/v1, kind: Database, metadata: {name: a, labels: {b: c}}, spec: "
	const deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: "
	for _, one := range []struct{ name, object, fault string }{
		{"a deployment", deployment + "{replicas: 2, template: {spec: {}}}}", ""},
		{"an unknown field", deployment + "{replica: 2, template: {}}}", "at '/spec': additional properties 'replica' not allowed"},
		{"a missing field", deployment + "{replicas: 2}}", "at '/spec': missing property 'template'"},
		{"a type", deployment + "{replicas: two, template: {}}}", "at '/spec/replicas': got string, want integer"},
		{"of the core group", "{apiVersion: v1, kind: Pod, metadata: {name: a}}", ""},
		{"an unknown field at the top", "{apiVersion: v1, kind: Pod, spce: {}}", "additional properties 'spce' not allowed"},
		{"a custom resource", database + "{deletion: {policy: Delete}, size: 1, note: null, wait: 1h30m}}", ""},
		{"a value of an enumeration", database + "{deletion: {policy: Deleted}}}", "at '/spec/deletion/policy': value must be one of"},
		{"a bound that is excluded", database + "{size: 0}}", "at '/spec/size': exclusiveMinimum: got 0, want 0"},
		{"a duration", database + "{wait: soon}}", "at '/spec/wait': 'soon' is not valid duration"},
		{"what may hold anything", "{apiVersion: example.com/v1, kind: Policy, anything: {goes: true}}", ""},
		{"another version", "{apiVersion: example.com/v2, kind: Database}", "there is no schema for example.com/v2 Database"},
		{"another kind", "{apiVersion: apps/v1, kind: Deploymnet}", "there is no schema for apps/v1 Deploymnet"},
	} {
		t.Run(one.name, func(t *testing.T) {
			faults := s.faults(object(t, one.object))
			if one.fault == "" && len(faults) == 0 {
				return
			}
			for _, fault := range faults {
				if one.fault != "" && strings.Contains(fault, one.fault) {
					return
				}
			}
			t.Errorf("%q, and wanted was %q", faults, one.fault)
		})
	}
}

func TestSeveralFaultsAreSeveralFindings(t *testing.T) {
	faults := schemas(t).faults(object(t, "{apiVersion: example.com/v1, kind: Database, spec: {size: none, deletion: {policy: Never}}}"))
	if len(faults) != 2 || !strings.HasPrefix(faults[0], "at '/spec/") || !strings.HasPrefix(faults[1], "at '/spec/") {
		t.Errorf("%q", faults)
	}
}

func TestWhatHasNoNamespaceIsKnownOfCustomResourcesToo(t *testing.T) {
	s := schemas(t)
	for kind, cluster := range map[string]bool{"Policy": true, "ClusterRole": true, "Database": false, "Deployment": false} {
		if s.clusterScoped(Object{"kind": kind}) != cluster {
			t.Errorf("%s", kind)
		}
	}
}

func TestAFolderWithoutSchemasIsAnError(t *testing.T) {
	folder := t.TempDir()
	if _, err := readSchemas(folder, folder); err == nil || !strings.Contains(err.Error(), "there are no schemas") {
		t.Errorf("%v", err)
	}
}
