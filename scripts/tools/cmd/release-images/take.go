package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"multi-operator/scripts/tools/internal/ocilayout"
)

// take takes the image of one architecture out of an index as it is, and writes it as a tar by another name, for clusters
// without a registry; and the programs in its root directory next to it. It returns the image's digest, which the index has too.
func take(file, architecture, name, folder string) (string, error) {
	unpacked, err := ocilayout.Unpack(file)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unpacked)
	image, err := imageOf(unpacked, architecture)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	if err := programs(image, folder); err != nil {
		return "", err
	}
	again, err := os.MkdirTemp("", "layout-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(again)
	written, err := layout.Write(again, empty.Index)
	if err != nil {
		return "", err
	}
	if err := written.AppendImage(image, layout.WithAnnotations(ocilayout.Annotations(name)),
		layout.WithPlatform(v1.Platform{OS: "linux", Architecture: architecture})); err != nil {
		return "", err
	}
	return digest.String(), ocilayout.Pack(again, filepath.Join(folder, "image.tar"))
}

func imageOf(unpacked, architecture string) (v1.Image, error) {
	index, err := only(unpacked)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, each := range manifest.Manifests {
		if each.Platform != nil && each.Platform.Architecture == architecture {
			return index.Image(each.Digest)
		}
	}
	return nil, fmt.Errorf("it has no image for %s", architecture)
}

// programs writes the regular files of an image's root folder.
func programs(image v1.Image, folder string) error {
	content := mutate.Extract(image)
	defer content.Close()
	reader := tar.NewReader(content)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean("/" + header.Name)
		if header.Typeflag != tar.TypeReg || path.Dir(name) != "/" {
			continue
		}
		if err := writeFile(filepath.Join(folder, path.Base(name)), header.FileInfo().Mode().Perm(), reader); err != nil {
			return err
		}
	}
}

func writeFile(name string, mode os.FileMode, content io.Reader) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
