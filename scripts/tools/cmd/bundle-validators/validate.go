package main

import (
	"regexp"
	"sort"
	"strings"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

// validators are what operator-sdk bundle validate runs, with its suite operatorframework, and the one of objects.
var validators = []struct {
	name string
	interfaces.Validator
}{
	{"bundle", validation.BundleValidator},
	{"csv", validation.ClusterServiceVersionValidator},
	{"crds", validation.CustomResourceDefinitionValidator},
	{"operatorhub-v2", validation.OperatorHubV2Validator},
	{"capabilities", validation.StandardCapabilitiesValidator},
	{"categories", validation.StandardCategoriesValidator},
	{"deprecated-apis", validation.AlphaDeprecatedAPIsValidator},
	{"good-practices", validation.GoodPracticesValidator},
	{"objects", validation.ObjectValidator},
}

// validate runs all of them. Some read the version of Kubernetes from among the objects.
func validate(bundle *manifests.Bundle, kubernetes string) []Finding {
	objects := append(bundle.ObjectsToValidate(), map[string]string{"k8s-version": kubernetes})
	var findings []Finding
	for _, validator := range validators {
		for _, result := range validator.Validate(objects...) {
			for _, fault := range append(result.Errors, result.Warnings...) {
				findings = append(findings, found("operator-framework/"+validator.name, fault)...)
			}
		}
	}
	return findings
}

func found(check string, fault errors.Error) []Finding {
	level := "error"
	if fault.Level == errors.LevelWarn {
		level = "warning"
	}
	var findings []Finding
	for _, message := range apart(fault.Error()) {
		findings = append(findings, Finding{Level: level, Check: check, Message: message})
	}
	return findings
}

const removed = "Migrate the API(s) for "

// of is an API with where it is used.
var of = regexp.MustCompile(`[^,]+: \(\[(?:"[^"]*"[ ,]*)+\]\)`)

// apart splits the message about removed APIs, which come in one and in any order, into one per API, so that each needs its own
// exception.
func apart(message string) []string {
	what, apis, listed := strings.Cut(message, removed)
	each := of.FindAllString(apis, -1)
	if !listed || len(each) == 0 {
		return []string{message}
	}
	sort.Strings(each)
	for i := range each {
		each[i] = what + removed + each[i]
	}
	return each
}
