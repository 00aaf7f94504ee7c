package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
)

// schemas says what an API server would say of the schemas, CEL rules among them. The operator-framework's validator of
// definitions drops all of that.
func schemas(definitions []*apiextensionsv1.CustomResourceDefinition) ([]Finding, error) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	var findings []Finding
	for _, definition := range definitions {
		read := definition.DeepCopy()
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(read)
		internal := &apiextensions.CustomResourceDefinition{}
		if err := scheme.Converter().Convert(read, internal, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", definition.Name, err)
		}
		for _, fault := range validation.ValidateCustomResourceDefinition(context.Background(), internal) {
			// What the API server alone fills in.
			if strings.HasPrefix(fault.Field, "status") {
				continue
			}
			message := definition.Name + ": " + fault.Error()
			findings = append(findings, Finding{Level: "error", Check: "api-server/crd", Message: message})
		}
	}
	return findings, nil
}
