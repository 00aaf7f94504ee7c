package main

import (
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"multi-operator/scripts/tools/internal/ocilayout"
)

// source is the tar of one image, and what it is for.
type source struct{ architecture, file string }

// writeIndex joins images, one an architecture, and writes the index as the tar of an OCI layout.
func writeIndex(output, name string, labels map[string]string, images []source) (string, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, each := range images {
		folder, err := ocilayout.Unpack(each.file)
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
	if err := path.AppendIndex(index, layout.WithAnnotations(ocilayout.Annotations(name))); err != nil {
		return "", err
	}
	return digest.String(), ocilayout.Pack(folder, output)
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
