package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A fake of Argo CD's program: it answers as that does, for an action `restart` and the condition Ready.
const program = `#!/bin/sh
command=$4 file=$5
case $command in
  health) if grep -q Ready "$file"; then printf 'STATUS: Healthy\nMESSAGE: it runs\n'; else printf 'STATUS: Degraded\nMESSAGE: \n'; fi ;;
  list-actions) if grep -q Ready "$file"; then d=false; else d=true; fi; printf 'NAME     DISABLED\nrestart  %s\n' $d ;;
  run-action) printf 'Following fields have been changed:\n\n'; sed 's/"name":"web"/"name":"web","annotations":{"restarted":"at once"}/' "$file" ;;
esac
`

// The cases of a kind App: one object that serves, and one that is stalled.
const cases = `# What each state is taken for.
---
name: ready
health: {status: Healthy, message: it runs}
kstatus: Current
actions: {restart: enabled}
runs:
  restart: {changes: {metadata: {annotations: {restarted: at once}}}}
object:
  ` + app + `
  status: {observedGeneration: 1, conditions: [` + ready + `]}
---
name: stalled
health: {status: Degraded}
kstatus: Failed
actions: {restart: disabled}
object:
  ` + app + `
  status: {observedGeneration: 1, conditions: [` + stalled + `]}
`

const app = "apiVersion: example.com/v1\n  kind: App\n  metadata: {name: web, generation: 1}"

// A ConfigMap with Lua for App.
const configMap = `data:
  resource.exclusions: ""
  resource.customizations.health.example.com_App: lua
  resource.customizations.actions.example.com_App: |
    discovery.lua: lua
    definitions: [{name: restart, action.lua: lua}]
`

// checked runs the tests of these cases with this ConfigMap, and returns what is wrong.
func checked(t *testing.T, file, content, config, only string) string {
	t.Helper()
	root := t.TempDir()
	put(t, filepath.Join(root, "cases", file), content)
	argo := argocd{put(t, filepath.Join(root, "argocd"), program), put(t, filepath.Join(root, "argocd-cm.yaml"), config)}
	wrong, err := checkAll(argo, filepath.Join(root, "cases"), only)
	return errors.Join(append(wrong, err)...).Error()
}

func TestRightCasesHaveNoFaults(t *testing.T) {
	for _, only := range []string{"", "App"} {
		root := t.TempDir()
		put(t, filepath.Join(root, "cases/App.yaml"), cases)
		argo := argocd{put(t, filepath.Join(root, "argocd"), program), put(t, filepath.Join(root, "argocd-cm.yaml"), configMap)}
		if wrong, err := checkAll(argo, filepath.Join(root, "cases"), only); len(wrong) > 0 || err != nil {
			t.Errorf("%v, %v", wrong, err)
		}
	}
}

func TestWhatDiffersFromTheCasesIsReported(t *testing.T) {
	for _, one := range []struct{ old, new, words string }{
		{"Healthy", "Suspended", "App.yaml: ready: Argo CD reports\n  Healthy: it runs\nand the test wants\n  Suspended: it runs"},
		{"it runs", "it goes", "and the test wants\n  Healthy: it goes"},
		{"health: {status: Degraded}\n", "", "App.yaml: stalled: Argo CD reports"},
		{"Current", "Failed", "App.yaml: ready: kstatus is Current, and the test wants Failed"},
		{"kstatus: Failed\n", "", "kstatus is Failed, and the test wants \n"},
		{"restart: enabled", "restart: disabled", "its actions are map[restart:enabled], and the test wants map[restart:disabled]"},
		{"restart: disabled", "restart: enabled", "App.yaml must run restart, and list it as enabled and as disabled"},
		{"actions: {restart: disabled}\n", "", "App.yaml must run restart"},
		{"  restart: {changes", "  start: {changes", "App.yaml must run restart"},
		{"  restart: {changes", "  start: {changes", "App.yaml tests start, which is no action of the kind"},
		{"at once", "later", "App.yaml: ready: restart gives (new: false)"},
		{"changes: {", "creates: {apiVersion: v1, kind: A, ", "and the test wants (new: true)"},
		{"changes: {metadata", "changes: {spec: 1, metadata", "restart gives"},
	} {
		if !strings.Contains(cases, one.old) {
			t.Fatalf("no case has %q", one.old)
		}
		if found := checked(t, "App.yaml", strings.Replace(cases, one.old, one.new, 1), configMap, ""); !strings.Contains(found+"\n", one.words) {
			t.Errorf("%q instead of %q:\n%s\nand wanted was %q", one.new, one.old, found, one.words)
		}
	}
}

func TestEachKindWithLuaHasAFileAndTheReverse(t *testing.T) {
	more := configMap + "  resource.customizations.health.example.com_Other: lua\n"
	if found := checked(t, "App.yaml", cases, more, ""); !strings.Contains(found, "no file has objects of example.com/Other") {
		t.Error(found)
	}
	if found := checked(t, "App.yaml", cases, "data: {}", ""); !strings.Contains(found, "has no Lua for example.com/App") {
		t.Error(found)
	}
	if found := checked(t, "App.yaml", cases, configMap, "Other"); !strings.Contains(found, "no file of the kind Other") {
		t.Error(found)
	}
}

func TestAProgramThatFailsIsReportedWithItsMessage(t *testing.T) {
	argo := argocd{put(t, filepath.Join(t.TempDir(), "argocd"), "#!/bin/sh\necho no such kind >&2\nexit 1\n"), "/dev/null"}
	if _, _, err := argo.health("a.yaml"); err == nil || !strings.Contains(err.Error(), "no such kind") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(argo.program, []byte("#!/bin/sh\necho something else\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"health":     func() error { _, _, err := argo.health("a.yaml"); return err },
		"actions":    func() error { _, err := argo.actions("a.yaml"); return err },
		"run-action": func() error { _, _, err := argo.runAction("a.yaml", "restart"); return err },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "something else") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
