package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// An object of the kind of the tests, with these conditions.
func object(conditions string) string {
	return "apiVersion: example.com/v1\nkind: App\nmetadata: {name: web, generation: 1}\nstatus: {observedGeneration: 1, conditions: [" + conditions + "]}\n"
}

const (
	ready   = `{type: Ready, status: "True", reason: Running}`
	stalled = `{type: Stalled, status: "True", reason: ImageNotFound, message: there is no image}`
)

func TestAnObjectsStatusIsOfItsConditions(t *testing.T) {
	for conditions, wanted := range map[string]string{
		ready:   "Current",
		stalled: "Failed",
		`{type: Reconciling, status: "True", reason: Pulling}`: "InProgress",
		`{type: Ready, status: "False", reason: Starting}`:     "InProgress",
	} {
		file := put(t, filepath.Join(t.TempDir(), "object.yaml"), object(conditions))
		read, err := readObject(file)
		if err != nil {
			t.Fatal(err)
		}
		if result, err := statusOf(read); err != nil || result.Status.String() != wanted {
			t.Errorf("%s: %v, %v; wanted was %s", conditions, result, err, wanted)
		}
	}
}

func TestAFileThatIsNoObjectIsAnError(t *testing.T) {
	for _, text := range []string{"a: [", "name: web"} {
		file := put(t, filepath.Join(t.TempDir(), "object.yaml"), text)
		if _, err := readObject(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
