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
	"os"
	"path"
	"sort"
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
	var files, entrypoint, command, env, labels list
	name := flag.String("name", "", "the image's full name, with a tag")
	output := flag.String("output", "", "the tar to write")
	rootfs := flag.String("rootfs", "", "tar of a root file system (instead of --file)")
	user := flag.String("user", "", "user that the entry point runs as")
	stopSignal := flag.String("stop-signal", "", "signal that stops it")
	flag.Var(&files, "file", "SOURCE:/TARGET:MODE, a single file (repeatable)")
	flag.Var(&entrypoint, "entrypoint", "one word of the entry point (repeatable)")
	flag.Var(&command, "cmd", "one word of the default arguments (repeatable)")
	flag.Var(&env, "env", "NAME=VALUE (repeatable)")
	flag.Var(&labels, "label", "NAME=VALUE (repeatable)")
	flag.Parse()
	if *name == "" || *output == "" || (*rootfs == "") == (len(files) == 0) {
		log.Fatal("needed: --name, --output, and either --rootfs or --file")
	}
	if err := build(*name, *output, *rootfs, files, config{entrypoint, command, env, labels, *user, *stopSignal}); err != nil {
		log.Fatal(err)
	}
}

type config struct {
	entrypoint, command, env, labels list
	user, stopSignal                 string
}

func build(name, output, rootfs string, files list, c config) error {
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
		err = addFiles(writer, files)
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
			"User": c.user, "StopSignal": c.stopSignal, "WorkingDir": "/",
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

func addFiles(writer *tar.Writer, files list) error {
	type entry struct {
		source, target string
		mode           int64
	}
	var entries []entry
	folders := map[string]bool{}
	for _, file := range files {
		parts := strings.Split(file, ":")
		if len(parts) != 3 || !path.IsAbs(parts[1]) {
			return fmt.Errorf("--file %s: want SOURCE:/TARGET:MODE", file)
		}
		mode, err := strconv.ParseInt(parts[2], 8, 64)
		if err != nil {
			return fmt.Errorf("--file %s: %w", file, err)
		}
		target := strings.TrimPrefix(path.Clean(parts[1]), "/")
		for folder := path.Dir(target); folder != "."; folder = path.Dir(folder) {
			folders[folder+"/"] = true
		}
		entries = append(entries, entry{parts[0], target, mode})
	}
	var names []string
	for folder := range folders {
		names = append(names, folder)
	}
	sort.Strings(names)
	for _, folder := range names {
		header := &tar.Header{Name: folder, Mode: 0o755, Typeflag: tar.TypeDir, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
	}
	for _, entry := range entries {
		file, err := os.Open(entry.source)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil {
			err = add(writer, entry.target, entry.mode, info.Size(), file)
		}
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
