package main

import (
	"fmt"
	"strings"
	"testing"
)

const sum = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

func project() *Project {
	return &Project{DevImage: "localhost/multi-operator", ReleaseImage: "r.example.com/multi-operator", Variables: []string{"LOG_FORMAT"}}
}

func TestAnImagesNameIsPartedFromItsTagOrDigest(t *testing.T) {
	for image, parts := range map[string][2]string{
		"localhost/a:dev":             {"localhost/a", "dev"},
		"localhost:5000/a":            {"localhost:5000/a", ""},
		"localhost:5000/a:1@" + sum:   {"localhost:5000/a:1", sum},
		"registry.example.com/a/b:v1": {"registry.example.com/a/b", "v1"},
	} {
		if repository, version := split(image); repository != parts[0] || version != parts[1] {
			t.Errorf("%s: %q, %q", image, repository, version)
		}
	}
}

func TestImagesOfEnvironmentsAreTheManagersAndDoNotChange(t *testing.T) {
	const pod = "{kind: Deployment, spec: {template: {spec: {initContainers: [], containers: [{image: %q}]}}}}"
	for _, one := range []struct{ environment, image, words string }{
		{"dev", "localhost/multi-operator:dev", ""},
		{"staging", "r.example.com/multi-operator@" + sum, ""},
		{"staging", "r.example.com/multi-operator:0.1.0", "has no digest"},
		{"staging", "r.example.com/multi-operator@sha256:11", "has no digest"},
		{"production", "r.exmaple.com/multi-operator@" + sum, "is not the manager's"},
		{"production", "multi-operator", `the image is still "multi-operator"`},
	} {
		expect(t, found(t, "kustomize/overlays/"+one.environment, fmt.Sprintf(pod, one.image), project().checkImages), one.words)
	}
	expect(t, found(t, "kustomize/base", fmt.Sprintf(pod, "multi-operator"), project().checkImages), "")
}

const deployment = `
kind: Deployment
metadata: {name: multi-operator-manager, namespace: multi-operator-system}
spec:
  template:
    spec:
      containers:
      - env: [{name: POD_NAMESPACE}, {name: OTEL_SERVICE_NAME}, {name: %s}]
        envFrom: [{configMapRef: {name: settings}}]
`

func TestSettingsAreOnesThatTheManagerHas(t *testing.T) {
	settings := "---\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {%s: json}\n"
	subscription := "---\nkind: Subscription\nmetadata: {name: a}\nspec: {config: {env: [{name: %s}]}}\n"
	for _, one := range []struct{ text, words string }{
		{fmt.Sprintf(deployment, "LOG_FORMAT"), ""},
		{fmt.Sprintf(deployment, "LOG_FORMT"), "Deployment multi-operator-system/multi-operator-manager sets LOG_FORMT"},
		{fmt.Sprintf(deployment+settings, "LOG_FORMAT", "LOG_FORMT"), "ConfigMap settings sets LOG_FORMT"},
		{fmt.Sprintf(subscription, "LOG_FORMT"), "Subscription a sets LOG_FORMT"},
		{fmt.Sprintf(subscription, "LOG_FORMAT"), ""},
		{strings.ReplaceAll(fmt.Sprintf(settings, "ANYTHING"), "name: settings", "name: another"), ""},
	} {
		expect(t, found(t, overlay, one.text, project().checkVariables), one.words)
	}
}

func TestMapsThatTheManagerReadsAreInTheBuild(t *testing.T) {
	text := fmt.Sprintf(deployment, "LOG_FORMAT")
	expect(t, found(t, overlay, text, checkSources), `takes variables from the ConfigMap "settings", which the build does not have`)
	expect(t, found(t, overlay, text+"---\nkind: ConfigMap\nmetadata: {name: settings}\n", checkSources), "")
}

func TestVariablesAreReadFromTheHelp(t *testing.T) {
	help := "  --log-format <FORMAT>\n      How logs are written [env:\n      LOG_FORMAT=] [default: text]\n  --port [env: PORT=8080]"
	if names := variablesOf(help); strings.Join(names, " ") != "LOG_FORMAT PORT" {
		t.Errorf("%q", names)
	}
}
