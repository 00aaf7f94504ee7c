package main

import (
	"fmt"
	"strings"
	"testing"
)

// found runs a check on a build of these objects.
func found(t *testing.T, name, objects string, check func(*Report, *Build)) string {
	t.Helper()
	all, err := objectsOf(strings.NewReader(objects))
	if err != nil {
		t.Fatal(err)
	}
	report := &Report{}
	check(report, &Build{Name: name, Objects: all})
	return strings.Join(report.findings, "\n")
}

// expect requires a finding with these parts, or none if there are no parts.
func expect(t *testing.T, found, words string) {
	t.Helper()
	if words == "" && found != "" || !strings.Contains(found, words) {
		t.Errorf("%q, and wanted was %q", found, words)
	}
}

const overlay = "kustomize/overlays/staging"

func TestASecretsDataHasNoPlaceInGit(t *testing.T) {
	for text, words := range map[string]string{
		"{kind: Secret, metadata: {name: a}, stringData: {b: c}}": "Secret a has data",
		"{kind: Secret, metadata: {name: a}, data: {b: Yw==}}":    "Secret a has data",
		"{kind: Secret, metadata: {name: a}, type: Opaque}":       "",
		"{kind: ConfigMap, metadata: {name: a}, data: {b: c}}":    "",
	} {
		expect(t, found(t, overlay, text, checkSecrets), words)
	}
}

func TestWhatStandsForAValueIsFound(t *testing.T) {
	for text, words := range map[string]string{
		"{kind: Service, spec: {clusterIP: REPLACE_ME}}":                            `has "REPLACE_ME" at spec.clusterIP`,
		"{kind: Pod, spec: {containers: [{image: $(IMAGE)}]}}":                      `has "$(IMAGE)" at spec.containers.image`,
		"{kind: Pod, spec: {containers: [{args: [$(POD_NAME)]}]}}":                  "",
		"{kind: Pod, spec: {containers: [{env: [{value: $(POD_NAME)}]}]}}":          "",
		"{kind: CustomResourceDefinition, spec: {description: placeholder}}":        "",
		"{kind: ConfigMap, data: {text: the word placeholder is text, other: ok}}":  "",
		"{kind: ConfigMap, metadata: {name: a}, data: {host: change-me.localhost}}": `at data.host`,
	} {
		expect(t, found(t, overlay, text, checkPlaceholders), words)
	}
}

func TestRightsGoToAccountsOfTheBuild(t *testing.T) {
	const binding = "kind: RoleBinding\nmetadata: {name: a}\nsubjects: [{kind: ServiceAccount, name: %s, namespace: %s}]\n"
	const account = "---\nkind: ServiceAccount\nmetadata: {name: multi-operator-manager, namespace: multi-operator-system}\n"
	for subject, words := range map[[2]string]string{
		{manager, system}:                 "",
		{"multi-operator-manger", system}: "the account multi-operator-system/multi-operator-manger, which the build does not have",
		{"prometheus", "monitoring"}:      "",
	} {
		text := fmt.Sprintf(binding, subject[0], subject[1])
		expect(t, found(t, overlay, text+account, checkSubjects), words)
		// A build without an account is for the manager's.
		expect(t, found(t, overlay, text, checkSubjects), words)
	}
}

func TestObjectsAreInNamespacesThatTheBuildCreates(t *testing.T) {
	s := schemas(t)
	check := func(report *Report, build *Build) { checkNamespaces(report, build, s) }
	for text, words := range map[string]string{
		"{kind: Service, metadata: {name: a, namespace: multi-operator-system}}":                                         "",
		"{kind: Service, metadata: {name: a, namespace: multi-operator}}":                                                "is in a foreign namespace",
		"{kind: Service, metadata: {name: a}}":                                                                           "Service a is in no namespace",
		"{kind: Policy, metadata: {name: a}}":                                                                            "",
		"{kind: Service, metadata: {name: a, namespace: shop}}\n---\n{kind: Namespace, metadata: {name: shop}}":          "",
		"{kind: Application, metadata: {name: a, namespace: argocd}}\n---\n{kind: Namespace, metadata: {name: another}}": "",
	} {
		expect(t, found(t, overlay, text, check), words)
	}
	expect(t, found(t, "config/default", "{kind: Service, metadata: {name: a}}", check), "")
}

func TestNamespacesAreNeitherPrunedNorDeletedWithTheManager(t *testing.T) {
	const namespace = "{kind: Namespace, metadata: {name: a, labels: {%s: restricted}, annotations: {%s: '%s', %s: %s}}}"
	const argo, flux, both = "argocd.argoproj.io/sync-options", "kustomize.toolkit.fluxcd.io/prune", "Prune=false,Delete=false"
	for text, words := range map[string]string{
		fmt.Sprintf(namespace, enforced, argo, both, flux, "disabled"):                      "",
		fmt.Sprintf(namespace, enforced, argo, "Prune=false", flux, "disabled"):             "Namespace a is not annotated " + argo,
		fmt.Sprintf(namespace, enforced, argo, both, flux, "enabled"):                       "Namespace a is not annotated " + flux,
		fmt.Sprintf(namespace, "other", argo, both, flux, "disabled"):                       "Namespace a has no label " + enforced,
		"{kind: Namespace, metadata: {name: a}}":                                            "is not annotated",
		"{kind: Service, metadata: {name: a}}":                                              "",
		"{kind: Service, metadata: {name: a, labels: {" + enforced + ": restricted}}}":      "Service a has the label " + enforced,
		"{kind: Deployment, spec: {template: {metadata: {labels: {" + enforced + ": a}}}}}": "",
	} {
		expect(t, found(t, overlay, text, checkKept), words)
	}
}

func TestSelectorsDoNotNameWhatChanges(t *testing.T) {
	for text, words := range map[string]string{
		"{kind: Deployment, spec: {selector: {matchLabels: {version: v1}}}}":  "selects by the label version",
		"{kind: Service, spec: {selector: {env: dev}}}":                       "selects by the label env",
		"{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {env: a}}}}": "selects by the label env",
		"{kind: Deployment, spec: {selector: {matchLabels: {app: web}}}}":     "",
	} {
		expect(t, found(t, overlay, text, checkSelectors), words)
	}
}
