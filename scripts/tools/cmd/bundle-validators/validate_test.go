package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const csv = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: p.v1.2.3, annotations: {alm-examples: "[]", capabilities: Everything, categories: Nonsense}}
spec:
  version: 1.2.3
  minKubeVersion: "1.33"
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: apps.example.com, kind: App, version: v1}]}
  install:
    strategy: deployment
    spec:
      permissions: [{serviceAccountName: p, rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create]}]}]
      deployments: [{name: p, spec: {template: {spec: {containers: [{name: p, image: p}]}}}}]
`

// The CRD's name is not that of its plural, its schema has no type, and the priority class is everybody's.
const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: others.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Other, plural: other, singular: other, listKind: OtherList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {spec: {type: object}}}}}]
`

const priority = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: p}
globalDefault: true
value: 1
`

func TestEachValidatorRuns(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		"manifests/csv.yaml":        csv,
		"manifests/crd.yaml":        crd,
		"manifests/priority.yaml":   priority,
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.channels.v1: beta}\n",
	}
	for name, text := range files {
		place := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	bundle, err := load(folder)
	if err != nil {
		t.Fatal(err)
	}
	findings := validate(bundle, "1.36.3")
	for check, words := range map[string]string{
		"bundle":         "Kind=App",
		"csv":            "MinKubeVersion",
		"crds":           "metadata.name",
		"operatorhub-v2": "Icon",
		"capabilities":   "Everything",
		"categories":     "Nonsense",
		"good-practices": "beta",
		"objects":        "globalDefault",
	} {
		if !says(findings, "operator-framework/"+check, words) {
			t.Errorf("%s says nothing of %s: %v", check, words, findings)
		}
	}
	findings, err = schemas(bundle.V1CRDs)
	if err != nil {
		t.Fatal(err)
	}
	if !says(findings, "api-server/crd", "openAPIV3Schema.type") {
		t.Errorf("nothing is said of the schema: %v", findings)
	}
}

func says(findings []Finding, check, words string) bool {
	return slices.ContainsFunc(findings, func(finding Finding) bool {
		return finding.Check == check && strings.Contains(finding.Message, words)
	})
}

func TestADirectoryThatIsNoBundleIsRejected(t *testing.T) {
	if _, err := load(t.TempDir()); err == nil {
		t.Fatal("it was taken")
	}
}

func TestEachRemovedAPIIsAMessageOfItsOwn(t *testing.T) {
	got := apart(`gone in v1.25. Migrate the API(s) for events: (["A[0].B[14]"]),endpointslices: (["A[0].B[10]" "C"]),`)
	want := []string{
		`gone in v1.25. Migrate the API(s) for endpointslices: (["A[0].B[10]" "C"])`,
		`gone in v1.25. Migrate the API(s) for events: (["A[0].B[14]"])`,
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if got := apart("something else, listed: a, b"); len(got) != 1 {
		t.Fatalf("%q", got)
	}
}
