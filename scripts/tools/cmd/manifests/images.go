package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// checkImages: an overlay's images are ones that a node can fetch, and in staging and production such as never change.
func (p *Project) checkImages(report *Report, build *Build) {
	environment, isOverlay := strings.CutPrefix(build.Name, "kustomize/overlays/")
	for _, image := range imagesOf(build) {
		repository, version := split(image)
		switch {
		case !isOverlay:
		case image == placeholder:
			report.add(build.Name, "the image is still %q, which stands for one: `images` has to have an entry of that name", image)
		case repository != p.DevImage && repository != p.ReleaseImage:
			report.add(build.Name, "the image %s is not the manager's, which is %s or, released, %s", image, p.DevImage, p.ReleaseImage)
		case environment != "dev" && !digest.MatchString(version):
			report.add(build.Name, "the image %s has no digest: what runs there has to be what was tried (scripts/promote sets it)", image)
		}
	}
}

// imagesOf finds the images of the build's own pods.
func imagesOf(build *Build) []string {
	var images []string
	for _, object := range build.Objects {
		for _, list := range []string{"containers", "initContainers"} {
			containers, _ := object.at("spec", "template", "spec", list).([]any)
			for _, entry := range containers {
				container, _ := entry.(map[string]any)
				images = append(images, Object(container).text("image"))
			}
		}
	}
	return images
}

// split parts an image's name from its digest, or else from its tag.
func split(image string) (repository, version string) {
	if repository, version, found := strings.Cut(image, "@"); found {
		return repository, version
	}
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[:colon], image[colon+1:]
	}
	return image, ""
}

// checkDigests: production has a digest that staging has, or once had.
func (p *Project) checkDigests(report *Report) {
	digestOf := func(environment string) string {
		path := "kustomize/overlays/" + environment
		folder, err := readFolder(filepath.Join(p.Root, path, "kustomization.yaml"), path)
		if err != nil {
			return ""
		}
		for _, image := range folder.Images {
			if image.Name == placeholder {
				return image.Digest
			}
		}
		return ""
	}
	production, staging := digestOf("production"), digestOf("staging")
	if production == "" || production == staging {
		return
	}
	history := exec.Command("git", "-c", "safe.directory="+p.Root, "log", "-p", "--format=", "--", "kustomize/overlays/staging/kustomization.yaml")
	history.Dir = p.Root
	// Without a history nothing was promoted: then it is as if staging never had it.
	past, _ := history.Output()
	if !strings.Contains(string(past), "digest: "+production) {
		report.add("kustomize/overlays/production", "the digest %s was never staging's: scripts/promote staging production", production)
	}
}

// checkSources: a map that is not there keeps the pod from starting.
func checkSources(report *Report, build *Build) {
	made := map[string]bool{}
	for _, object := range build.Objects {
		made[object.name()] = made[object.name()] || object.kind() == "ConfigMap"
	}
	for source := range sourcesOf(build) {
		if !made[source] {
			report.add(build.Name, "the manager takes variables from the ConfigMap %q, which the build does not have", source)
		}
	}
}

// checkVariables: a setting with a name that no program reads has no effect, and causes no error.
func (p *Project) checkVariables(report *Report, build *Build) {
	sources := sourcesOf(build)
	for _, object := range build.Objects {
		var set []string
		switch {
		case object.kind() == "ConfigMap" && sources[object.name()]:
			data, _ := object.at("data").(map[string]any)
			for name := range data {
				set = append(set, name)
			}
		case object.kind() == "Subscription":
			set = variablesIn(object.at("spec", "config", "env"))
		case object.kind() == "Deployment" && strings.HasSuffix(object.name(), "manager"):
			containers, _ := object.at("spec", "template", "spec", "containers").([]any)
			for _, entry := range containers {
				container, _ := entry.(map[string]any)
				set = append(set, variablesIn(container["env"])...)
			}
		}
		for _, name := range set {
			// POD_NAMESPACE is read from the pod, and OpenTelemetry's variables by its own SDK.
			if !slices.Contains(p.Variables, name) && name != "POD_NAMESPACE" && !strings.HasPrefix(name, "OTEL_") {
				report.add(build.Name, "%s sets %s, and the manager has no such variable (manager --help)", object, name)
			}
		}
	}
}

// sourcesOf finds the maps whose entries become variables of the manager.
func sourcesOf(build *Build) map[string]bool {
	sources := map[string]bool{}
	for _, object := range build.Objects {
		containers, _ := object.at("spec", "template", "spec", "containers").([]any)
		for _, entry := range containers {
			container, _ := entry.(map[string]any)
			maps, _ := container["envFrom"].([]any)
			for _, source := range maps {
				fields, _ := source.(map[string]any)
				sources[Object(fields).text("configMapRef", "name")] = true
			}
		}
	}
	return sources
}

func variablesIn(list any) []string {
	var found []string
	entries, _ := list.([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		found = append(found, Object(fields).text("name"))
	}
	return found
}
