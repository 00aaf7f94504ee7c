package main

import (
	"regexp"
	"slices"
	"strings"
)

const (
	// Where the manager lives, and what it is called.
	system  = "multi-operator-system"
	manager = "multi-operator-manager"
	// What config/default puts before every name.
	prefix = "multi-operator-"
	// The placeholder for the manager's image until an overlay sets it.
	placeholder = "multi-operator"
)

// Foreign namespaces in which objects of this project belong nevertheless.
var others = []string{"argocd", "flux-system"}

// checkSecrets: git is read by more people than a cluster's Secrets.
func checkSecrets(report *Report, build *Build) {
	for _, object := range build.Objects {
		if object.kind() == "Secret" && (object.at("data") != nil || object.at("stringData") != nil) {
			report.add(build.Name, "%s has data: a secret has no place in git (docs/gitops.md has ways around it)", object)
		}
	}
}

// What people write where something else is to be put. With a blank it is text about it.
var standIn = regexp.MustCompile(`(?i)^\S*(placeholder|replace[-_]?me|replaced-by|change[-_]?me|fill[-_]me)\S*$|^\$[({][A-Za-z_.]+[)}]$`)

func checkPlaceholders(report *Report, build *Build) {
	for _, object := range build.Objects {
		if object.kind() == "CustomResourceDefinition" {
			continue
		}
		walk(map[string]any(object), "", func(path, text string) {
			// $(NAME) is Kubernetes' own in commands and variables of the environment.
			if standIn.MatchString(text) && !strings.Contains(path, ".env.") && !strings.Contains(path, ".args.") {
				report.add(build.Name, "%s has %q at %s: a replacement that is not resolved", object, text, strings.TrimPrefix(path, "."))
			}
		})
	}
}

func walk(value any, path string, visit func(path, text string)) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			walk(inner, path+"."+key, visit)
		}
	case []any:
		for _, inner := range value {
			walk(inner, path+".", visit)
		}
	case string:
		visit(strings.ReplaceAll(path, "..", "."), value)
	}
}

// checkSubjects: rights go to an account of the same build. A build without accounts is for the manager of another.
func checkSubjects(report *Report, build *Build) {
	accounts := map[string]bool{}
	for _, object := range build.Objects {
		if object.kind() == "ServiceAccount" {
			accounts[object.namespace()+"/"+object.name()] = true
		}
	}
	if len(accounts) == 0 {
		accounts[system+"/"+manager] = true
	}
	for _, object := range build.Objects {
		subjects, _ := object.at("subjects").([]any)
		for _, entry := range subjects {
			fields, _ := entry.(map[string]any)
			subject := Object(fields)
			account := subject.text("namespace") + "/" + subject.text("name")
			if subject.text("kind") == "ServiceAccount" && !accounts[account] && !foreign(subject.text("namespace")) {
				report.add(build.Name, "%s grants permissions to the account %s, which the build does not have", object, account)
			}
		}
	}
}

// A namespace that the project does not create: a monitoring system's account may be granted a permission.
func foreign(namespace string) bool {
	return namespace != system && !strings.HasPrefix(namespace, "multi-operator")
}

// checkNamespaces: an object without a namespace, or in one that nothing creates, ends up in an unexpected place.
func checkNamespaces(report *Report, build *Build, schemas *Schemas) {
	// The including kustomization completes these.
	parts := []string{"config/", "kustomize/watched-namespace", "kustomize/instances-network-policy", "kustomize/instances/base", "kustomize/olm/base"}
	if slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(build.Name, part) }) {
		return
	}
	known := append([]string{system}, others...)
	for _, object := range build.Objects {
		if object.kind() == "Namespace" {
			known = append(known, object.name())
		}
	}
	for _, object := range build.Objects {
		switch {
		case schemas.clusterScoped(object):
		case object.namespace() == "":
			report.add(build.Name, "%s is in no namespace", object)
		case !slices.Contains(known, object.namespace()):
			report.add(build.Name, "%s is in a foreign namespace: the build is for %s", object, strings.Join(known, ", "))
		}
	}
}

// What Argo CD and Flux respect, in this order: each leaves a Namespace with both where it is.
var kept = [][2]string{
	{"argocd.argoproj.io/sync-options", "Prune=false,Delete=false"},
	{"kustomize.toolkit.fluxcd.io/prune", "disabled"},
}

// By what docs/uninstall.md leaves Namespaces out of `kubectl delete`: they have this label, and nothing else has.
const enforced = "pod-security.kubernetes.io/enforce"

// checkKept: a Namespace that is deleted takes databases, volumes and snapshots with it, the manager's own included.
func checkKept(report *Report, build *Build) {
	for _, object := range build.Objects {
		_, labelled := object.at("metadata", "labels", enforced).(string)
		if object.kind() != "Namespace" {
			if labelled {
				report.add(build.Name, "%s has the label %s: the command of docs/uninstall.md would leave it", object, enforced)
			}
			continue
		}
		for _, annotation := range kept {
			if object.text("metadata", "annotations", annotation[0]) != annotation[1] {
				report.add(build.Name, "%s is not annotated %s: %s: pruning would take it, and all that is in it", object, annotation[0], annotation[1])
			}
		}
		if !labelled {
			report.add(build.Name, "%s has no label %s: the command of docs/uninstall.md would delete it", object, enforced)
		}
	}
}

// Labels that change from one environment or version to the next. Selectors of Deployments can never be changed.
var changing = []string{"env", "environment", "version", "app.kubernetes.io/version"}

func checkSelectors(report *Report, build *Build) {
	for _, object := range build.Objects {
		for _, path := range [][]string{{"spec", "selector"}, {"spec", "selector", "matchLabels"}, {"spec", "podSelector", "matchLabels"}} {
			labels, _ := object.at(path...).(map[string]any)
			for _, label := range changing {
				if _, found := labels[label]; found && object.kind() != "CustomResourceDefinition" {
					report.add(build.Name, "%s selects by the label %s, which changes: a selector has to stay", object, label)
				}
			}
		}
	}
}
