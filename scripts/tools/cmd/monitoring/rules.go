package main

import (
	"errors"
	"fmt"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus-operator/prometheus-operator/pkg/operator"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// rulesFile gives all rules as one file. A test that cannot wait has their times divided, and nothing else changed.
func rulesFile(rendered *Rendered, faster, ages float64) ([]byte, error) {
	spec := monitoring.PrometheusRuleSpec{}
	for _, object := range rendered.Rules {
		if problems := operator.ValidateRule(object.Spec); len(problems) > 0 {
			return nil, fmt.Errorf("PrometheusRule %s: %w", object.Name, errors.Join(problems...))
		}
		spec.Groups = append(spec.Groups, object.Spec.Groups...)
	}
	if len(spec.Groups) == 0 {
		return nil, errors.New("there is no PrometheusRule")
	}
	for _, group := range spec.Groups {
		for i := range group.Rules {
			if err := hurry(&group.Rules[i], faster, ages); err != nil {
				return nil, fmt.Errorf("%s: %w", group.Rules[i].Alert, err)
			}
		}
	}
	return yaml.Marshal(spec)
}

func hurry(rule *monitoring.Rule, faster, ages float64) error {
	if faster == 1 && ages == 1 {
		return nil
	}
	expression, err := parser.ParseExpr(rule.Expr.String())
	if err != nil {
		return err
	}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.MatrixSelector:
			node.Range = time.Duration(float64(node.Range) / faster)
		case *parser.SubqueryExpr:
			node.Range = time.Duration(float64(node.Range) / faster)
			node.Step = time.Duration(float64(node.Step) / faster)
		case *parser.BinaryExpr:
			// What is no number, such as the moment that something is due at, is what now is compared with.
			if node.Op.IsComparisonOperator() && ofTime(node.LHS) && node.RHS.Type() == parser.ValueTypeScalar {
				divisor := &parser.NumberLiteral{Val: ages}
				node.RHS = &parser.ParenExpr{Expr: &parser.BinaryExpr{Op: parser.DIV, LHS: node.RHS, RHS: divisor}}
			}
		}
		return nil
	})
	rule.Expr = intstr.FromString(expression.String())
	for _, duration := range []*monitoring.Duration{rule.For, (*monitoring.Duration)(rule.KeepFiringFor)} {
		if duration == nil {
			continue
		}
		whole, err := model.ParseDuration(string(*duration))
		if err != nil {
			return err
		}
		*duration = monitoring.Duration(model.Duration(float64(whole) / faster).String())
	}
	return nil
}

// ofTime says whether this is an age: something subtracted from now.
func ofTime(expression parser.Expr) bool {
	found := false
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		call, ok := node.(*parser.Call)
		found = found || ok && call.Func.Name == "time"
		return nil
	})
	return found
}
