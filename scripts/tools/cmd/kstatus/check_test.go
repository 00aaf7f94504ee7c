package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What stands for Argo CD's program: it answers as that does, for an action `restart` and the condition Ready.
const program = `#!/bin/sh
command=$4 file=$5
case $command in
  health) if grep -q Ready "$file"; then printf 'STATUS: Healthy\nMESSAGE: it runs\n'; else printf 'STATUS: Degraded\nMESSAGE: \n'; fi ;;
  list-actions) if grep -q Ready "$file"; then d=false; else d=true; fi; printf 'NAME     DISABLED\nrestart  %s\n' $d ;;
  run-action) printf 'Following fields have been changed:\n\n'; sed 's/name: web/name: web, annotations: {restarted: yes}/' "$file" ;;
esac
`

const (
	healthTest1 = "tests:\n- {inputPath: testdata/ready.yaml, healthStatus: {status: Healthy, message: it runs}}\n" +
		"- {inputPath: testdata/stalled.yaml, healthStatus: {status: Degraded}}\n"
	kstatusTest1 = "tests:\n- {inputPath: testdata/ready.yaml, kstatus: Current}\n- {inputPath: testdata/stalled.yaml, kstatus: Failed}\n"
	actionTest1  = "discoveryTests:\n- {inputPath: ../testdata/ready.yaml, result: [{name: restart}]}\n" +
		"- {inputPath: ../testdata/stalled.yaml, result: [{name: restart, disabled: true}]}\n" +
		"actionTests:\n- {action: restart, inputPath: ../testdata/ready.yaml, expectedOutputPath: testdata/restarted.yaml}\n"
)

// customizations lays out one kind's folder, as it is changed, and runs its tests.
func customizations(t *testing.T, change map[string]string) (output string) {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"health.lua": "", "health_test.yaml": healthTest1, "kstatus_test.yaml": kstatusTest1,
		"testdata/ready.yaml": object(ready), "testdata/stalled.yaml": object(stalled),
		"actions/action_test.yaml": actionTest1, "actions/restart/action.lua": "",
		"actions/testdata/restarted.yaml": strings.Replace(object(ready), "name: web", "name: web, annotations: {restarted: yes}", 1),
	}
	for name, content := range change {
		files[name] = content
	}
	for name, content := range files {
		if content != "absent" {
			put(t, filepath.Join(root, "example.com", "App", name), content)
		}
	}
	argo := argocd{put(t, filepath.Join(t.TempDir(), "argocd"), program), "/dev/null"}
	folders, err := kindFolders(root)
	if err != nil {
		t.Fatal(err)
	}
	tasks, wrong := testsOf(argo, folders[0])
	for _, each := range append(wrong, runAll(tasks)...) {
		output += each.Error() + "\n"
	}
	return output
}

func TestRightFilesHaveNoFaults(t *testing.T) {
	if faults := customizations(t, nil); faults != "" {
		t.Error(faults)
	}
}

func TestWhatIsNotAsTheTestsSayIsTold(t *testing.T) {
	for _, one := range []struct{ file, old, new, words string }{
		{"health_test.yaml", "Healthy", "Suspended", "Argo CD says\n  Healthy: it runs"},
		{"health_test.yaml", "it runs", "it goes", "and the test wants\n  Healthy: it goes"},
		{"health_test.yaml", "healthStatus", "health", "unknown field"},
		{"kstatus_test.yaml", "Current", "Failed", "kstatus is Current, and the test wants Failed"},
		{"kstatus_test.yaml", "stalled", "stopped", "names testdata/stopped.yaml, which is not there"},
		{"kstatus_test.yaml", "stalled", "stopped", "testdata/stalled.yaml is in no test of kstatus_test.yaml"},
		{"testdata/ready.yaml", "kind: App", "kind: Other", "it is of another kind"},
		{"actions/action_test.yaml", "result: [{name: restart}]", "result: [{name: restart, disabled: true}]", "the test wants map[restart:true]"},
		{"actions/action_test.yaml", "disabled: true", "disabled: false", "must run restart, and see it enabled and disabled"},
		{"actions/action_test.yaml", "action: restart", "action: start", "must run restart"},
		{"actions/testdata/restarted.yaml", "restarted: yes", "restarted: no", "and not what is in"},
		{"actions/testdata/unused.yaml", "", "a: b", "testdata/unused.yaml is in no test of action_test.yaml"},
	} {
		contents := map[string]string{
			"health_test.yaml": healthTest1, "kstatus_test.yaml": kstatusTest1, "actions/action_test.yaml": actionTest1,
			"testdata/ready.yaml":             object(ready),
			"actions/testdata/restarted.yaml": strings.Replace(object(ready), "name: web", "name: web, annotations: {restarted: yes}", 1),
		}
		before := contents[one.file]
		if !strings.Contains(before, one.old) {
			t.Fatalf("%s has no %q", one.file, one.old)
		}
		after := one.new
		if before != "" {
			after = strings.Replace(before, one.old, one.new, 1)
		}
		if faults := customizations(t, map[string]string{one.file: after}); !strings.Contains(faults, one.words) {
			t.Errorf("%s with %q:\n%s\nand wanted was %q", one.file, one.new, faults, one.words)
		}
	}
}

func TestAFolderWithoutCustomizationsIsAnError(t *testing.T) {
	if _, err := kindFolders(t.TempDir()); err == nil {
		t.Error("nothing was tested")
	}
}

func TestAProgramThatFailsIsToldWithItsWords(t *testing.T) {
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
