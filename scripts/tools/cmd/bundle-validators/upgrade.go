package main

import (
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/property"
	"sigs.k8s.io/crdify/pkg/validators/version"
)

// rules are operator-controller's: new fields and new values of an enumeration pass, and changes that no rule knows do not.
var rules = &config.Config{
	Conversion:           config.ConversionPolicyIgnore,
	UnhandledEnforcement: config.EnforcementPolicyError,
	Validations: []config.ValidationConfig{
		{Name: "description", Enforcement: config.EnforcementPolicyNone},
		{
			Name:          "enum",
			Enforcement:   config.EnforcementPolicyError,
			Configuration: map[string]any{"additionPolicy": property.AdditionPolicyAllow},
		},
	},
}

// compare reports what in the new definitions would break objects that the old ones accept.
func compare(before, now []*apiextensionsv1.CustomResourceDefinition) ([]Finding, error) {
	judge, err := runner.New(rules, runner.DefaultRegistry())
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, old := range before {
		replacement := named(now, old.Name)
		if replacement == nil {
			findings = append(findings, broken(old.Name, "removed", "the definition was removed, and its objects would be deleted with it"))
			continue
		}
		results := judge.Run(everStored(old), replacement)
		findings = append(findings, faults(old.Name, "", results.CRDValidation)...)
		for _, versions := range [][]version.VersionedPropertyComparisonResult{results.SameVersionValidation, results.ServedVersionValidation} {
			for _, one := range versions {
				for _, field := range one.PropertyComparisons {
					findings = append(findings, faults(old.Name, one.Version+" "+field.Property+": ", field.ComparisonResults)...)
				}
			}
		}
	}
	return findings, nil
}

// everStored is a definition on a cluster that has objects of each of its versions: a manifest does not show that.
func everStored(definition *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	stored := definition.DeepCopy()
	for _, version := range definition.Spec.Versions {
		stored.Status.StoredVersions = append(stored.Status.StoredVersions, version.Name)
	}
	return stored
}

func named(definitions []*apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinition {
	for _, definition := range definitions {
		if definition.Name == name {
			return definition
		}
	}
	return nil
}

func faults(name, where string, results []validations.ComparisonResult) []Finding {
	var findings []Finding
	for _, result := range results {
		for _, fault := range result.Errors {
			findings = append(findings, broken(name, result.Name, where+brief(fault)))
		}
	}
	return findings
}

func broken(name, rule, message string) Finding {
	return Finding{Level: "error", Check: "olm-v1-crd-upgrade/" + rule, Message: fmt.Sprintf("%s: %s", name, message)}
}

// brief keeps of a difference that no rule knows the lines that differ.
func brief(fault string) string {
	lines := strings.Split(fault, "\n")
	if len(lines) == 1 {
		return fault
	}
	kept := lines[:1]
	for _, line := range lines[1:] {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			kept = append(kept, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(kept, " ")
}
