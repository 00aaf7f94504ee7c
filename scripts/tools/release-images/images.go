package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// source is the tar of one image, and what it is for.
type source struct{ architecture, file string }

// writeIndex joins images, one an architecture, and writes the index as the tar of an OCI layout.
func writeIndex(output, name string, labels map[string]string, images []source) (string, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, each := range images {
		folder, err := unpack(each.file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", each.file, err)
		}
		defer os.RemoveAll(folder)
		image, err := published(folder, each.architecture, labels)
		if err != nil {
			return "", fmt.Errorf("%s: %w", each.file, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: each.architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "layout-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return "", err
	}
	annotations := map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": name[strings.LastIndex(name, ":")+1:],
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(annotations)); err != nil {
		return "", err
	}
	return digest.String(), pack(folder, output)
}

// published is an image as a registry should have it: its layers compressed, with its labels, for its architecture.
func published(folder, architecture string, labels map[string]string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("it has %d images, and one is wanted", len(manifest.Manifests))
	}
	image, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	layers, err := image.Layers()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture = architecture
	if config.Config.Labels == nil {
		config.Config.Labels = map[string]string{}
	}
	for key, value := range labels {
		config.Config.Labels[key] = value
	}
	history := config.History
	config.History, config.RootFS.DiffIDs = nil, nil
	result, err := mutate.ConfigFile(mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1), config)
	if err != nil {
		return nil, err
	}
	for number, layer := range layers {
		smaller, err := tarball.LayerFromOpener(layer.Uncompressed, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, err
		}
		addendum := mutate.Addendum{Layer: smaller, MediaType: types.OCILayer}
		if number < len(history) {
			addendum.History = history[number]
		}
		if result, err = mutate.Append(result, addendum); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// unpack gives an OCI layout's folder for its tar.
func unpack(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	folder, err := os.MkdirTemp("", "image-*")
	if err != nil {
		return "", err
	}
	reader := tar.NewReader(file)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return folder, nil
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			err = unpackFile(folder, header.Name, reader)
		}
		if err != nil {
			os.RemoveAll(folder)
			return "", err
		}
	}
}

func unpackFile(folder, name string, content io.Reader) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q leads out of the tar", name)
	}
	target := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	file, err := os.Create(target)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(file, content); err != nil {
		return err
	}
	return file.Close()
}

// pack writes a folder's files, sorted, without times and owners: the same images make the same tar.
func pack(folder, output string) error {
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	writer := tar.NewWriter(file)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if err := writer.WriteHeader(header); err != nil {
			return err
		}
		_, err = io.Copy(writer, bytes.NewReader(content))
		return err
	})
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		return err
	}
	return file.Close()
}
