package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A fake of kustomize: it prints the file `built` of the directory, writes `said` to stderr, and fails with `fails`.
const kustomize = `#!/bin/sh
cd "$2"
[ ! -e said ] || cat said >&2
[ ! -e fails ] || exit 1
[ ! -e built ] || cat built
`

// repository creates a project of these files, and checks it.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	p := project()
	p.Root, p.Schemas = t.TempDir(), schemas(t)
	p.Kustomize = filepath.Join(t.TempDir(), "kustomize")
	put(t, p.Kustomize, kustomize)
	put(t, p.Root+"/config/kustomization.yaml", "resources: []")
	put(t, p.Root+"/kustomize/components/monitoring/kustomization.yaml", "kind: Component")
	for name, content := range files {
		put(t, filepath.Join(p.Root, name), content)
	}
	return strings.Join(p.check().findings, "\n")
}

func TestAProjectWithoutFaultsHasNoFindings(t *testing.T) {
	expect(t, repository(t, map[string]string{
		"kustomize/overlays/dev/kustomization.yaml": "resources: [web.yaml]\ncomponents: [../../components/monitoring]",
		"kustomize/overlays/dev/web.yaml":           "",
		"kustomize/overlays/dev/built": "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: multi-operator-system}, " +
			"spec: {template: {spec: {containers: [{image: 'localhost/multi-operator:dev'}]}}}}",
	}), "")
}

func TestWhatAKustomizationNamesIsThere(t *testing.T) {
	for text, words := range map[string]string{
		"components: [../../components/monitorin]":                             "and there is none: there are monitoring",
		"components: [../../base]":                                             "as a component, and it is none",
		"resources: [../bases]":                                                "and there is no such file or directory",
		"resources: ['https://example.com/a?ref=v1']":                          "",
		"commonLabels: {a: b}":                                                 "the field commonLabels is deprecated: labels takes its place",
		"secretGenerator: [{name: login, literals: [a=b]}]":                    "secretGenerator would put a secret into git: [login]",
		"patches: [{target: {kind: Service}, patch: '[]'}]":                    "a patch is for Service, and the build has no such object",
		"patches: [{target: {kind: Service}, patch: '$patch: delete'}]":        "",
		"replacements: [{targets: [{select: {kind: Deployment, name: web}}]}]": "a replacement is for Deployment web",
		"replacements: [{path: file.yaml}]":                                    "a file of replacements cannot be read",
		"replacements: [{path: one.yaml}]":                                     "a replacement is for Service one",
		"replacements: [{path: list.yaml}]":                                    "a replacement is for Service listed",
	} {
		expect(t, repository(t, map[string]string{
			"kustomize/base/kustomization.yaml":         "resources: []",
			"kustomize/overlays/dev/kustomization.yaml": text,
			"kustomize/overlays/dev/one.yaml":           "targets: [{select: {kind: Service, name: one}}]",
			"kustomize/overlays/dev/list.yaml":          "[{targets: [{select: {kind: Service, name: listed}}]}]",
		}), words)
	}
}

func TestWhatKustomizeSaysIsAFinding(t *testing.T) {
	const folder = "kustomize/overlays/dev/"
	expect(t, repository(t, map[string]string{folder + "kustomization.yaml": "", folder + "said": "no such field", folder + "fails": ""}),
		"does not build: no such field")
	expect(t, repository(t, map[string]string{folder + "kustomization.yaml": "", folder + "said": "Warning: deprecated"}),
		"builds, but with a warning: Warning: deprecated")
	expect(t, repository(t, map[string]string{folder + "kustomization.yaml": "", folder + "built": "a: b: c"}),
		"what it builds cannot be read")
	expect(t, repository(t, map[string]string{folder + "kustomization.yaml": "", folder + "built": "{apiVersion: v2, kind: Pod}"}),
		"there is no schema for v2 Pod")
}

func TestAPatternSelectsWholeNamesAlsoWithoutTheirPrefix(t *testing.T) {
	object := Object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "multi-operator-manager"}}
	for selector, selects := range map[Selector]bool{
		{}:                                       true,
		{Kind: "Deploy.*"}:                       true,
		{Kind: "Deploy"}:                         false,
		{Name: "manager"}:                        true,
		{Name: "multi-operator-manager"}:         true,
		{Name: "manage"}:                         false,
		{Group: "apps", Version: "v1"}:           true,
		{Version: "v2"}:                          false,
		{Kind: "Deployment", Namespace: "other"}: false,
		{Name: "("}:                              false,
	} {
		if selector.selects(object) != selects {
			t.Errorf("%+v", selector)
		}
	}
}

func TestProductionHasADigestThatStagingHad(t *testing.T) {
	other := strings.ReplaceAll(sum, "1", "2")
	image := func(digest string) string { return "images: [{name: multi-operator, digest: '" + digest + "'}]\n" }
	p := project()
	p.Root = t.TempDir()
	git := func(arguments ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost", "-C", p.Root}, arguments...)...)
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, said)
		}
	}
	git("init", "--quiet")
	findings := func(staging, production string) string {
		put(t, p.Root+"/kustomize/overlays/staging/kustomization.yaml", "images:\n- name: multi-operator\n  digest: "+staging+"\n")
		put(t, p.Root+"/kustomize/overlays/production/kustomization.yaml", image(production))
		report := &Report{}
		p.checkDigests(report)
		git("add", ".")
		git("commit", "--quiet", "--allow-empty", "--message", "a")
		return strings.Join(report.findings, "\n")
	}
	expect(t, findings(other, sum), "was never staging's")
	expect(t, findings(sum, sum), "")
	expect(t, findings(strings.ReplaceAll(sum, "1", "3"), other), "")
}
