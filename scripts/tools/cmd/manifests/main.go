// manifests reports faults of this project's kustomizations that kustomize itself accepts without a warning, and that a cluster
// would reject or, worse, accept. Each finding is a message on stderr.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Project is the checks' input about the project.
type Project struct {
	// Root is the repository's folder.
	Root string
	// Kustomize is the program.
	Kustomize string
	// Images of the manager: of development, and of releases.
	DevImage, ReleaseImage string
	// Variables of the environment that the manager knows.
	Variables []string
	// Folders to build, where not all of them are to be.
	Only []string
	// Schemas of every kind that may occur.
	Schemas *Schemas
}

func main() {
	project, err := read()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	report := project.check()
	project.Schemas.close()
	for _, finding := range report.findings {
		fmt.Fprintln(os.Stderr, "error:", finding)
	}
	if len(report.findings) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%d directories, and %d components alone and together, build without a warning: %d objects match their schemas\n",
		report.folders, report.components, report.objects)
}

func read() (*Project, error) {
	project := &Project{}
	flag.StringVar(&project.Root, "root", ".", "the repository")
	flag.StringVar(&project.Kustomize, "kustomize", "kustomize", "the program")
	flag.StringVar(&project.DevImage, "dev-image", "", "the manager's image without its tag, in development")
	flag.StringVar(&project.ReleaseImage, "release-image", "", "the same of a release, without its digest")
	schemas := flag.String("schemas", "", "a directory with openapi/*.json of Kubernetes and crds/*.yaml")
	variables := flag.String("variables", "", "a file with what the manager's --help prints")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: manifests OPTION... [DIR...]: with directories, only these are built")
		flag.PrintDefaults()
	}
	flag.Parse()
	project.Only = flag.Args()
	help, err := os.ReadFile(*variables)
	if err != nil {
		return nil, err
	}
	if project.Variables = variablesOf(string(help)); len(project.Variables) == 0 {
		return nil, fmt.Errorf("%s names no variable as [env: NAME=]", *variables)
	}
	project.Schemas, err = readSchemas(*schemas, project.Root+"/config/crd/bases")
	return project, err
}

// variablesOf reads the names of `[env: NAME=...]`, which may be at a line's break.
func variablesOf(help string) []string {
	var names []string
	for _, part := range strings.Split(help, "[env:")[1:] {
		name, _, _ := strings.Cut(strings.TrimSpace(part), "=")
		names = append(names, name)
	}
	return names
}

// Report is what came of it.
type Report struct {
	findings                     []string
	folders, components, objects int
}

func (r *Report) add(where, format string, arguments ...any) {
	finding := where + ": " + fmt.Sprintf(format, arguments...)
	if !slices.Contains(r.findings, finding) {
		r.findings = append(r.findings, finding)
	}
}

func (p *Project) check() *Report {
	report := &Report{}
	folders, err := p.folders()
	if err != nil {
		report.add(p.Root, "%s", err)
		return report
	}
	var components []*Folder
	for _, folder := range folders {
		p.checkFolder(report, folder)
		// A directory elsewhere is for another project's kustomization: argocd/health for Argo CD's, which scripts/check-health builds.
		if folder.isComponent() && strings.HasPrefix(folder.Path, "kustomize/components/") {
			components = append(components, folder)
		}
	}
	if len(report.findings) > 0 {
		// A file that names missing things does not build, and would be reported twice.
		return report
	}
	wanted := func(folder *Folder) bool { return len(p.Only) == 0 || slices.Contains(p.Only, folder.Path) }
	for _, folder := range folders {
		if !folder.isComponent() && wanted(folder) {
			p.checkBuild(report, folder, p.build(report, folder.Path, folder.Path))
			report.folders++
		}
	}
	for _, component := range components {
		if !wanted(component) {
			continue
		}
		p.checkBuild(report, component, p.buildComponents(report, component.Path+" on kustomize/base", component))
		report.components++
	}
	if len(p.Only) == 0 {
		p.checkBuild(report, nil, p.buildComponents(report, "all components on kustomize/base", components...))
	}
	p.checkDigests(report)
	return report
}

func (p *Project) checkBuild(report *Report, folder *Folder, build *Build) {
	if build == nil {
		return
	}
	report.objects += len(build.Objects)
	for _, object := range build.Objects {
		for _, fault := range p.Schemas.faults(object) {
			report.add(build.Name, "%s: %s", object, fault)
		}
	}
	if folder != nil {
		p.checkTargets(report, folder, build)
	}
	checkSecrets(report, build)
	checkPlaceholders(report, build)
	checkSubjects(report, build)
	checkNamespaces(report, build, p.Schemas)
	checkKept(report, build)
	checkSelectors(report, build)
	p.checkImages(report, build)
	checkSources(report, build)
	p.checkVariables(report, build)
}
