package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Dashboard is the part of Grafana's model that the checks read.
type Dashboard struct {
	File       string     `json:"-"`
	Title      string     `json:"title"`
	UID        string     `json:"uid"`
	Editable   bool       `json:"editable"`
	Tags       []string   `json:"tags"`
	Panels     []Panel    `json:"panels"`
	Templating Templating `json:"templating"`
}

// Templating holds the variables.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is what a person chooses at the top.
type Variable struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Query   any    `json:"query"`
	Refresh int    `json:"refresh"`
}

// Panel is one picture.
type Panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Datasource  Source `json:"datasource"`
	Position    struct {
		X int `json:"x"`
		Y int `json:"y"`
		W int `json:"w"`
		H int `json:"h"`
	} `json:"gridPos"`
	Targets     []Target `json:"targets"`
	FieldConfig struct {
		Defaults struct {
			Unit       string         `json:"unit"`
			Thresholds map[string]any `json:"thresholds,omitempty"`
			Custom     map[string]any `json:"custom,omitempty"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// Source is where a panel asks.
type Source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Target is one query.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
	Instant      bool   `json:"instant"`
}

// What Grafana fills in, as long as it is 30 s that lie between samples.
var intervals = map[string]string{"$__rate_interval": "2m", "$__interval": "30s", "$__range": "1h"}

var variable = regexp.MustCompile(`\$(\w+)|\$\{(\w+)\}`)

// expression is a query with its variables filled in: any namespace, any name.
func (t Target) expression() string {
	text := t.Expr
	for name, value := range intervals {
		text = strings.ReplaceAll(text, name, value)
	}
	return variable.ReplaceAllString(text, ".*")
}

// checkDashboards holds the rules of Grafana's dashboard-linter, and that no panel covers another.
func checkDashboards(rendered *Rendered) []string {
	var findings []string
	if len(rendered.Dashboards) == 0 {
		findings = append(findings, "there is no dashboard")
	}
	uids := map[string]string{}
	for _, dashboard := range rendered.Dashboards {
		for _, problem := range dashboard.problems() {
			findings = append(findings, fmt.Sprintf("dashboard %s: %s", dashboard.File, problem))
		}
		if other, taken := uids[dashboard.UID]; taken {
			findings = append(findings, fmt.Sprintf("dashboards %s and %s have one uid", other, dashboard.File))
		}
		uids[dashboard.UID] = dashboard.File
	}
	return findings
}

func (d Dashboard) problems() []string {
	var problems []string
	say := func(format string, of ...any) { problems = append(problems, fmt.Sprintf(format, of...)) }
	if d.Title == "" || d.UID == "" || len(d.Tags) == 0 {
		say("it needs a title, a uid and a tag")
	}
	if d.Editable {
		say("it is editable: an edit would be lost at the next sync")
	}
	known := map[string]bool{}
	for _, of := range d.Templating.List {
		known[of.Name] = true
		if of.Type == "query" && of.Refresh != 2 {
			say("variable %s is not refreshed when the time changes", of.Name)
		}
	}
	if len(d.Templating.List) == 0 || d.Templating.List[0].Name != "datasource" || d.Templating.List[0].Type != "datasource" {
		say("its first variable is not the datasource")
	}
	ids := map[int]bool{}
	for i, panel := range d.Panels {
		if panel.Type == "row" {
			continue
		}
		if ids[panel.ID] {
			say("panel id %d is there twice", panel.ID)
		}
		ids[panel.ID] = true
		for _, problem := range panel.problems(known) {
			say("panel %q: %s", panel.Title, problem)
		}
		for _, other := range d.Panels[:i] {
			if other.overlaps(panel) {
				say("panels %q and %q overlap", other.Title, panel.Title)
			}
		}
	}
	return problems
}

func (p Panel) overlaps(other Panel) bool {
	a, b := p.Position, other.Position
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

func (p Panel) problems(known map[string]bool) []string {
	var problems []string
	say := func(format string, of ...any) { problems = append(problems, fmt.Sprintf(format, of...)) }
	if p.Title == "" || p.Description == "" {
		say("it needs a title and a description")
	}
	if p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" {
		say("its datasource is not ${datasource}")
	}
	if p.FieldConfig.Defaults.Unit == "" {
		say("it has no unit")
	}
	if p.Position.X+p.Position.W > 24 {
		say("it is wider than the page")
	}
	if len(p.Targets) == 0 {
		say("it asks nothing")
	}
	for _, target := range p.Targets {
		for _, problem := range target.problems(known) {
			say("%s: %s", target.Expr, problem)
		}
	}
	return problems
}

func (t Target) problems(known map[string]bool) []string {
	var problems []string
	for _, match := range variable.FindAllStringSubmatch(t.Expr, -1) {
		name := match[1] + match[2]
		if _, builtIn := intervals["$"+name]; !builtIn && !known[name] {
			problems = append(problems, "there is no variable "+name)
		}
	}
	expression, err := parser.ParseExpr(t.expression())
	if err != nil {
		return append(problems, err.Error())
	}
	parser.Inspect(expression, func(node parser.Node, path []parser.Node) error {
		if call, ok := node.(*parser.Call); ok && (call.Func.Name == "rate" || call.Func.Name == "increase") &&
			!strings.Contains(t.Expr, "$__rate_interval") && !strings.Contains(t.Expr, "$__range") {
			problems = append(problems, call.Func.Name+" without $__rate_interval")
		}
		if selector, ok := node.(*parser.VectorSelector); ok && !scoped(selector) {
			problems = append(problems, selector.Name+" is a metric of other targets, too: it needs job=\"multi-operator-metrics\"")
		}
		return nil
	})
	return problems
}

// Only this project has metrics of these names.
var ours = regexp.MustCompile(`^(sampledb|etcd_cluster|multi_operator)_`)

func scoped(selector *parser.VectorSelector) bool {
	if ours.MatchString(selector.Name) {
		return true
	}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name == "job" {
			return true
		}
	}
	return false
}
