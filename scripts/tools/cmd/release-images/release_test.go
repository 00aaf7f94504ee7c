package main

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"multi-operator/scripts/tools/internal/ocilayout"
)

// image writes the tar of an image that has one file.
func image(t *testing.T, content string) string {
	t.Helper()
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	check(t, writer.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Size: int64(len(content))}))
	_, err := writer.Write([]byte(content))
	check(t, err)
	check(t, writer.Close())
	added, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	check(t, err)
	image, err := mutate.AppendLayers(empty.Image, added)
	check(t, err)
	path, err := layout.Write(t.TempDir(), empty.Index)
	check(t, err)
	check(t, path.AppendImage(image))
	file := filepath.Join(t.TempDir(), "image.tar")
	check(t, ocilayout.Pack(string(path), file))
	return file
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func index(t *testing.T, output, content string) string {
	t.Helper()
	file := image(t, content)
	digest, err := writeIndex(output, "r.example.com/p:1.0.0", map[string]string{"org.opencontainers.image.version": "1.0.0"},
		[]source{{"amd64", file}, {"arm64", file}})
	check(t, err)
	return digest
}

func TestWhatIsPushedHasTheDigestKnownBefore(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	where := strings.TrimPrefix(server.URL, "http://") + "/p:1.0.0"
	file := filepath.Join(t.TempDir(), "p.oci.tar")
	known := index(t, file, "one")
	check(t, mayPush(where))
	for range 2 {
		digest, err := push(file, where)
		check(t, err)
		if digest != known {
			t.Fatalf("pushed as %s, and was to be %s", digest, known)
		}
	}

	reference, err := name.ParseReference(where)
	check(t, err)
	for _, architecture := range []string{"amd64", "arm64"} {
		got, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture}))
		check(t, err)
		config, err := got.ConfigFile()
		check(t, err)
		if config.Architecture != architecture || config.Config.Labels["org.opencontainers.image.version"] != "1.0.0" {
			t.Fatalf("%s: %+v", architecture, config)
		}
		if err := registryHas(got); err != nil {
			t.Fatal(err)
		}
	}

	other := filepath.Join(t.TempDir(), "other.oci.tar")
	index(t, other, "two")
	if _, err := push(other, where); err == nil || !strings.Contains(err.Error(), "is not changed") {
		t.Fatalf("another image went over a release: %v", err)
	}
}

// registryHas reads every layer to its end, which checks its digest.
func registryHas(image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, content); err != nil {
			return err
		}
	}
	return nil
}

func TestAnImageIsTakenAsItIsPublished(t *testing.T) {
	server := httptest.NewServer(registry.New())
	defer server.Close()
	where := strings.TrimPrefix(server.URL, "http://") + "/p:1.0.0"
	file, folder := filepath.Join(t.TempDir(), "p.oci.tar"), t.TempDir()
	index(t, file, "one")
	digest, err := take(file, "amd64", "localhost/p:dev", folder)
	check(t, err)
	content, err := os.ReadFile(filepath.Join(folder, "file"))
	check(t, err)
	if string(content) != "one" {
		t.Fatalf("its program is %q", content)
	}

	_, err = push(file, where)
	check(t, err)
	reference, err := name.ParseReference(where)
	check(t, err)
	published, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
	check(t, err)
	if known, err := published.Digest(); err != nil || known.String() != digest {
		t.Fatalf("%s was taken, and %s is published (%v)", digest, known, err)
	}
	unpacked, err := ocilayout.Unpack(filepath.Join(folder, "image.tar"))
	check(t, err)
	defer os.RemoveAll(unpacked)
	tar, err := layout.ImageIndexFromPath(unpacked)
	check(t, err)
	manifest, err := tar.IndexManifest()
	check(t, err)
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest.String() != digest {
		t.Fatalf("the tar has %+v", manifest.Manifests)
	}
	if _, err := take(file, "riscv64", "localhost/p:dev", folder); err == nil {
		t.Fatal("there is no such architecture")
	}
}

func TestTheSameImagesMakeTheSameBytes(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	index(t, one, "same")
	index(t, two, "same")
	first, err := os.ReadFile(one)
	check(t, err)
	second, err := os.ReadFile(two)
	check(t, err)
	if !bytes.Equal(first, second) {
		t.Fatal("two tars of the same images differ")
	}
}

func TestAnUnreachableRegistryIsAnError(t *testing.T) {
	server := httptest.NewServer(registry.New())
	where := strings.TrimPrefix(server.URL, "http://") + "/p:1.0.0"
	server.Close()
	if err := mayPush(where); err == nil {
		t.Fatal("a registry that is not there takes images")
	}
}
