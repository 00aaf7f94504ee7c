package main

import (
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"multi-operator/scripts/tools/internal/ocilayout"
)

var epoch = v1.Time{Time: time.Unix(0, 0).UTC()}

// write makes the image, and gives the digest of its manifest.
func write(o options) (v1.Hash, error) {
	folder, err := os.MkdirTemp("", "oci-image-*")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(folder)
	layer, err := layerOf(o, folder)
	if err != nil {
		return v1.Hash{}, err
	}
	image, err := imageOf(o, layer)
	if err != nil {
		return v1.Hash{}, err
	}
	path, err := layout.Write(folder+"/layout", empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	platform, err := v1.ParsePlatform(o.platform)
	if err != nil {
		return v1.Hash{}, err
	}
	for _, name := range o.names {
		err := path.AppendImage(image, layout.WithAnnotations(ocilayout.Annotations(name)), layout.WithPlatform(*platform))
		if err != nil {
			return v1.Hash{}, err
		}
	}
	if err := ocilayout.Pack(string(path), o.output); err != nil {
		return v1.Hash{}, err
	}
	return image.Digest()
}

func imageOf(o options, layer v1.Layer) (v1.Image, error) {
	platform, err := v1.ParsePlatform(o.platform)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, label := range o.labels {
		key, value, _ := strings.Cut(label, "=")
		labels[key] = value
	}
	config := &v1.ConfigFile{
		Created: epoch, OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: o.entrypoint, Cmd: o.command, Env: o.env, Labels: labels,
			User: o.user, StopSignal: o.stopSignal, WorkingDir: o.workdir,
		},
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(base, config)
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: epoch, CreatedBy: "scripts/images"}})
}

// layerOf writes the layer's tar into a folder: an image may be larger than what this program should hold in memory.
func layerOf(o options, folder string) (v1.Layer, error) {
	file, err := os.Create(folder + "/layer.tar")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if o.rootfs != "" {
		err = copyRootfs(file, o.rootfs)
	} else {
		err = o.content.write(file)
	}
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	digest, size, err := v1.SHA256(file)
	if err != nil {
		return nil, err
	}
	return partial.CompressedToLayer(&plainLayer{file.Name(), digest, size})
}

// plainLayer is a layer that is stored as it is. The library's own layers of tars compress them.
type plainLayer struct {
	file   string
	digest v1.Hash
	size   int64
}

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.file) }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.file) }
