// Command oci-image writes an OCI image of one layer as a tar, from a root file system's tar or from single files.
//
// The same input gives the same bytes: times are the epoch, owners of single files are root, and nothing of the
// machine that builds it gets in.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

func main() {
	log.SetFlags(0)
	var content content
	var entrypoint, command, env, labels list
	name := flag.String("name", "", "the image's full name, with a tag")
	output := flag.String("output", "", "the tar to write")
	rootfs := flag.String("rootfs", "", "tar of a root file system (instead of --file)")
	user := flag.String("user", "", "user that the entry point runs as")
	stopSignal := flag.String("stop-signal", "", "signal that stops it")
	workdir := flag.String("workdir", "/", "folder that the entry point starts in")
	flag.Var(&content.files, "file", "SOURCE:/TARGET:MODE, a single file (repeatable)")
	flag.Var(&content.symlinks, "symlink", "TARGET:/PATH, a symbolic link at PATH (repeatable)")
	flag.Var(&content.folders, "folder", "/PATH:MODE, an empty folder; those of files and links are there anyway (repeatable)")
	flag.Var(&entrypoint, "entrypoint", "one word of the entry point (repeatable)")
	flag.Var(&command, "cmd", "one word of the default arguments (repeatable)")
	flag.Var(&env, "env", "NAME=VALUE (repeatable)")
	flag.Var(&labels, "label", "NAME=VALUE (repeatable)")
	flag.Parse()
	if *name == "" || *output == "" || (*rootfs == "") == content.empty() {
		log.Fatal("needed: --name, --output, and either --rootfs or some of --file, --symlink and --folder")
	}
	c := config{entrypoint, command, env, labels, *user, *stopSignal, *workdir}
	if err := build(*name, *output, *rootfs, content, c); err != nil {
		log.Fatal(err)
	}
}

type config struct {
	entrypoint, command, env, labels list
	user, stopSignal, workdir        string
}

// content is what an image without a root file system holds.
type content struct{ files, symlinks, folders list }

func (c content) empty() bool { return len(c.files)+len(c.symlinks)+len(c.folders) == 0 }

func build(name, output, rootfs string, content content, c config) error {
	layer, err := os.CreateTemp("", "layer-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(layer.Name())
	hash := sha256.New()
	writer := tar.NewWriter(io.MultiWriter(layer, hash))
	if rootfs != "" {
		err = copyRootfs(writer, rootfs)
	} else {
		err = addContent(writer, content)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		return err
	}
	size, err := layer.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	layerDigest := "sha256:" + hex.EncodeToString(hash.Sum(nil))

	labels := map[string]string{}
	for _, label := range c.labels {
		key, value, _ := strings.Cut(label, "=")
		labels[key] = value
	}
	imageConfig, err := json.Marshal(map[string]any{
		"created": "1970-01-01T00:00:00Z", "architecture": "amd64", "os": "linux",
		"config": map[string]any{
			"Entrypoint": []string(c.entrypoint), "Cmd": []string(c.command), "Env": []string(c.env), "Labels": labels,
			"User": c.user, "StopSignal": c.stopSignal, "WorkingDir": c.workdir,
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layerDigest}},
		"history": []map[string]string{{"created": "1970-01-01T00:00:00Z", "created_by": "scripts/images"}},
	})
	if err != nil {
		return err
	}
	const vendor = "application/vnd.oci.image."
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": vendor + "manifest.v1+json",
		"config": describe(vendor+"config.v1+json", imageConfig),
		"layers": []descriptor{{MediaType: vendor + "layer.v1.tar", Digest: layerDigest, Size: size}},
	})
	if err != nil {
		return err
	}
	entry := describe(vendor+"manifest.v1+json", manifest)
	entry.Annotations = map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": name[strings.LastIndex(name, ":")+1:],
	}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": vendor + "index.v1+json", "manifests": []descriptor{entry},
	})
	if err != nil {
		return err
	}

	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	image := tar.NewWriter(file)
	for _, blob := range []struct {
		name    string
		content []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", index},
		{blobName(entry.Digest), manifest},
		{blobName(describe("", imageConfig).Digest), imageConfig},
	} {
		if err := add(image, blob.name, 0o644, int64(len(blob.content)), bytes.NewReader(blob.content)); err != nil {
			return err
		}
	}
	if _, err := layer.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := add(image, blobName(layerDigest), 0o644, size, layer); err != nil {
		return err
	}
	if err := image.Close(); err != nil {
		return err
	}
	fmt.Println(entry.Digest)
	return file.Close()
}

func describe(mediaType string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

func blobName(digest string) string { return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:") }

func add(writer *tar.Writer, name string, mode int64, size int64, content io.Reader) error {
	header := &tar.Header{Name: name, Mode: mode, Size: size, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(writer, content)
	return err
}

// copyRootfs keeps owners, modes, links and attributes, and drops times. Device nodes stay out: the runtime makes its own.
func copyRootfs(writer *tar.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeChar || header.Typeflag == tar.TypeBlock {
			continue
		}
		clean := *header
		clean.ModTime, clean.AccessTime, clean.ChangeTime = time.Unix(0, 0), time.Time{}, time.Time{}
		clean.Uname, clean.Gname, clean.Format = "", "", tar.FormatPAX
		clean.PAXRecords = map[string]string{}
		for key, value := range header.PAXRecords {
			if strings.HasPrefix(key, "SCHILY.xattr.") {
				clean.PAXRecords[key] = value
			}
		}
		if err := writer.WriteHeader(&clean); err != nil {
			return err
		}
		if _, err := io.Copy(writer, reader); err != nil {
			return err
		}
	}
}

// addContent writes folders first, parents before what is in them, then files, then links.
func addContent(writer *tar.Writer, content content) error {
	folders := map[string]int64{}
	addParents := func(name string) {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if _, known := folders[folder]; !known {
				folders[folder] = 0o755
			}
		}
	}

	type file struct {
		source, target string
		mode           int64
	}
	var files []file
	for _, option := range content.files {
		parts := strings.Split(option, ":")
		if len(parts) != 3 || !path.IsAbs(parts[1]) {
			return fmt.Errorf("--file %s: want SOURCE:/TARGET:MODE", option)
		}
		mode, err := strconv.ParseInt(parts[2], 8, 64)
		if err != nil {
			return fmt.Errorf("--file %s: %w", option, err)
		}
		files = append(files, file{parts[0], inside(parts[1]), mode})
		addParents(inside(parts[1]))
	}
	type symlink struct{ target, name string }
	var symlinks []symlink
	for _, option := range content.symlinks {
		target, name, _ := strings.Cut(option, ":")
		if target == "" || !path.IsAbs(name) {
			return fmt.Errorf("--symlink %s: want TARGET:/PATH", option)
		}
		symlinks = append(symlinks, symlink{target, inside(name)})
		addParents(inside(name))
	}
	for _, option := range content.folders {
		name, octal, _ := strings.Cut(option, ":")
		mode, err := strconv.ParseInt(octal, 8, 64)
		if err != nil || !path.IsAbs(name) {
			return fmt.Errorf("--folder %s: want /PATH:MODE", option)
		}
		folders[inside(name)] = mode
		addParents(inside(name))
	}

	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if err := addEmpty(writer, tar.TypeDir, name+"/", "", folders[name]); err != nil {
			return err
		}
	}
	for _, file := range files {
		source, err := os.Open(file.source)
		if err != nil {
			return err
		}
		info, err := source.Stat()
		if err == nil {
			err = add(writer, file.target, file.mode, info.Size(), source)
		}
		source.Close()
		if err != nil {
			return err
		}
	}
	for _, link := range symlinks {
		if err := addEmpty(writer, tar.TypeSymlink, link.name, link.target, 0o777); err != nil {
			return err
		}
	}
	return nil
}

// inside is a path of the image as a tar has it: without a slash in front.
func inside(name string) string { return strings.TrimPrefix(path.Clean(name), "/") }

func addEmpty(writer *tar.Writer, kind byte, name, target string, mode int64) error {
	return writer.WriteHeader(&tar.Header{
		Name: name, Linkname: target, Mode: mode, Typeflag: kind, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	})
}
