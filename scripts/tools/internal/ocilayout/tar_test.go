package ocilayout

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPackedFilesComeBackUnpacked(t *testing.T) {
	folder, packed := t.TempDir(), filepath.Join(t.TempDir(), "layout.tar")
	write(t, filepath.Join(folder, "index.json"), "{}")
	write(t, filepath.Join(folder, "blobs/sha256/ab"), "blob")
	if err := Pack(folder, packed); err != nil {
		t.Fatal(err)
	}
	back, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(back)
	for name, content := range map[string]string{"index.json": "{}", "blobs/sha256/ab": "blob"} {
		if read, err := os.ReadFile(filepath.Join(back, name)); err != nil || string(read) != content {
			t.Errorf("%s: %q, %v", name, read, err)
		}
	}
}

func TestTimesAndModesOfFilesDoNotMatter(t *testing.T) {
	var tars [][]byte
	for _, mode := range []os.FileMode{0o600, 0o755} {
		folder, packed := t.TempDir(), filepath.Join(t.TempDir(), "layout.tar")
		for _, name := range []string{"b", "a", "c/d"} {
			path := filepath.Join(folder, name)
			write(t, path, name)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, time.Unix(int64(mode), 0)); err != nil {
				t.Fatal(err)
			}
		}
		if err := Pack(folder, packed); err != nil {
			t.Fatal(err)
		}
		read, err := os.ReadFile(packed)
		if err != nil {
			t.Fatal(err)
		}
		tars = append(tars, read)
	}
	if !bytes.Equal(tars[0], tars[1]) {
		t.Error("two tars of the same files differ")
	}
}

func TestATarWhoseNamesLeadOutIsRefused(t *testing.T) {
	packed := filepath.Join(t.TempDir(), "bad.tar")
	file, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	writer := tar.NewWriter(file)
	if err := writer.WriteHeader(&tar.Header{Name: "../escaped", Typeflag: tar.TypeReg, Size: 0}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Unpack(packed); err == nil || !strings.Contains(err.Error(), "leads out of the tar") {
		t.Errorf("the tar was unpacked: %v", err)
	}
}

func TestTheTagIsWhatFollowsTheLastColon(t *testing.T) {
	found := Annotations("registry.example.com:5000/a/b:1.2")
	if found["io.containerd.image.name"] != "registry.example.com:5000/a/b:1.2" || found["org.opencontainers.image.ref.name"] != "1.2" {
		t.Errorf("%v", found)
	}
}
