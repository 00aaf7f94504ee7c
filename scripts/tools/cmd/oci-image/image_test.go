package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"multi-operator/scripts/tools/internal/ocilayout"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// some are options of an image with one program.
func some(t *testing.T) options {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	check(t, os.WriteFile(program, []byte("#!program"), 0o600))
	return options{
		names: list{"localhost/program:dev"}, output: filepath.Join(t.TempDir(), "image.tar"), platform: "linux/amd64",
		entrypoint: list{"/usr/bin/program"}, command: list{"run"}, env: list{"PATH=/usr/bin"}, labels: list{"title=a=b"},
		user: "65532:65532", stopSignal: "SIGINT", workdir: "/data",
		content: content{
			files: list{program + ":/usr/bin/program:755"}, symlinks: list{"program:/usr/bin/alias"}, folders: list{"/data:1777"},
		},
	}
}

// made writes an image, and reads it back: its index, and the image of the index's first entry.
func made(t *testing.T, o options) (*v1.IndexManifest, v1.Image) {
	t.Helper()
	check(t, o.check())
	digest, err := write(o)
	check(t, err)
	folder, err := ocilayout.Unpack(o.output)
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	index, err := layout.ImageIndexFromPath(folder)
	check(t, err)
	manifest, err := index.IndexManifest()
	check(t, err)
	if manifest.Manifests[0].Digest != digest {
		t.Fatalf("the printed digest is %s, and the index has %s", digest, manifest.Manifests[0].Digest)
	}
	image, err := index.Image(digest)
	check(t, err)
	blobs, err := filepath.Glob(filepath.Join(folder, "blobs", "sha256", "*"))
	check(t, err)
	if len(blobs) != 3 {
		t.Fatalf("a manifest, a configuration and a layer are wanted: %v", blobs)
	}
	for _, blob := range blobs {
		file, err := os.Open(blob)
		check(t, err)
		hash, _, err := v1.SHA256(file)
		check(t, err)
		check(t, file.Close())
		if hash.Hex != filepath.Base(blob) {
			t.Errorf("%s has the digest %s", blob, hash)
		}
	}
	return manifest, image
}

// members reads the image's only layer.
func members(t *testing.T, image v1.Image) (headers []*tar.Header, contents map[string]string) {
	t.Helper()
	layers, err := image.Layers()
	check(t, err)
	if len(layers) != 1 {
		t.Fatalf("%d layers", len(layers))
	}
	content, err := layers[0].Uncompressed()
	check(t, err)
	defer content.Close()
	contents = map[string]string{}
	reader := tar.NewReader(content)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return headers, contents
		}
		check(t, err)
		text, err := io.ReadAll(reader)
		check(t, err)
		headers, contents[header.Name] = append(headers, header), string(text)
	}
}

func TestTheConfigurationIsWhatTheOptionsSay(t *testing.T) {
	_, image := made(t, some(t))
	config, err := image.ConfigFile()
	check(t, err)
	wanted := v1.Config{
		Entrypoint: []string{"/usr/bin/program"}, Cmd: []string{"run"}, Env: []string{"PATH=/usr/bin"},
		Labels: map[string]string{"title": "a=b"}, User: "65532:65532", StopSignal: "SIGINT", WorkingDir: "/data",
	}
	if !reflect.DeepEqual(config.Config, wanted) {
		t.Errorf("%+v", config.Config)
	}
	if config.OS != "linux" || config.Architecture != "amd64" || !config.Created.Equal(time.Unix(0, 0)) {
		t.Errorf("%s/%s of %s", config.OS, config.Architecture, config.Created)
	}
	layers, err := image.Layers()
	check(t, err)
	if kind, err := layers[0].MediaType(); err != nil || kind != types.OCIUncompressedLayer {
		t.Errorf("the layer is %s, %v", kind, err)
	}
}

func TestTheLayerHasFoldersFilesAndLinks(t *testing.T) {
	_, image := made(t, some(t))
	headers, contents := members(t, image)
	var names []string
	for _, header := range headers {
		names = append(names, header.Name)
		if header.Uid != 0 || header.Gid != 0 || !header.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%+v", header)
		}
	}
	if wanted := []string{"data/", "usr/", "usr/bin/", "usr/bin/program", "usr/bin/alias"}; !reflect.DeepEqual(names, wanted) {
		t.Fatalf("%v", names)
	}
	if headers[0].Mode != 0o1777 || headers[2].Mode != 0o755 || headers[3].Mode != 0o755 {
		t.Errorf("modes %o, %o, %o", headers[0].Mode, headers[2].Mode, headers[3].Mode)
	}
	if headers[4].Typeflag != tar.TypeSymlink || headers[4].Linkname != "program" {
		t.Errorf("%+v", headers[4])
	}
	if contents["usr/bin/program"] != "#!program" {
		t.Errorf("%v", contents)
	}
}

func TestEachNameIsAnEntryOfTheIndex(t *testing.T) {
	o := some(t)
	o.names = list{"docker.io/library/postgres:17.5", "docker.io/library/postgres:17"}
	index, _ := made(t, o)
	var names, tags []string
	for _, entry := range index.Manifests {
		names = append(names, entry.Annotations["io.containerd.image.name"])
		tags = append(tags, entry.Annotations["org.opencontainers.image.ref.name"])
		if entry.Digest != index.Manifests[0].Digest || entry.Platform == nil || entry.Platform.String() != "linux/amd64" {
			t.Errorf("%+v", entry)
		}
	}
	if !reflect.DeepEqual(names, []string(o.names)) || !reflect.DeepEqual(tags, []string{"17.5", "17"}) {
		t.Errorf("%v, %v", names, tags)
	}
}

func TestThePlatformIsTheOneAskedFor(t *testing.T) {
	o := some(t)
	o.platform = "linux/arm64/v8"
	index, image := made(t, o)
	config, err := image.ConfigFile()
	check(t, err)
	if config.Architecture != "arm64" || config.Variant != "v8" || index.Manifests[0].Platform.String() != "linux/arm64/v8" {
		t.Errorf("%s %s, %s", config.Architecture, config.Variant, index.Manifests[0].Platform)
	}
}

func TestTheSameInputMakesTheSameBytes(t *testing.T) {
	o := some(t)
	var tars [][]byte
	for _, output := range []string{"one", "two"} {
		o.output = filepath.Join(t.TempDir(), output)
		source, _, _ := strings.Cut(o.content.files[0], ":")
		check(t, os.Chtimes(source, time.Time{}, time.Unix(int64(len(tars)+1), 0)))
		_, err := write(o)
		check(t, err)
		read, err := os.ReadFile(o.output)
		check(t, err)
		tars = append(tars, read)
	}
	if !bytes.Equal(tars[0], tars[1]) {
		t.Error("two images of the same files differ")
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for name, change := range map[string]func(*options){
		"no name":              func(o *options) { o.names = nil },
		"a name without a tag": func(o *options) { o.names = append(o.names, "localhost/program") },
		"no output":            func(o *options) { o.output = "" },
		"nothing in it":        func(o *options) { o.content = content{} },
		"two kinds of content": func(o *options) { o.rootfs = "rootfs.tar" },
		"no architecture":      func(o *options) { o.platform = "linux" },
	} {
		o := some(t)
		change(&o)
		if o.check() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, content := range map[string]content{
		"a file without a mode":   {files: list{"a:/b"}},
		"a file's relative place": {files: list{"a:b:644"}},
		"a mode that is none":     {files: list{"a:/b:rw"}},
		"a link to nothing":       {symlinks: list{":/b"}},
		"a folder without a mode": {folders: list{"/b"}},
		"a file that is not here": {files: list{"/nowhere/a:/b:644"}},
	} {
		if content.write(io.Discard) == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
