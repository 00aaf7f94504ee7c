package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"multi-operator/scripts/tools/internal/ocilayout"
)

// mayPush asks the registry to begin an upload, and leaves it at that.
func mayPush(image string) error {
	reference, err := name.ParseReference(image)
	if err != nil {
		return err
	}
	return remote.CheckPushPermission(reference, authn.DefaultKeychain, http.DefaultTransport)
}

// missing prints the images that their registries do not have.
func missing(images []string) error {
	for _, image := range images {
		reference, err := name.ParseReference(image)
		if err != nil {
			return err
		}
		_, err = remote.Head(reference, remote.WithAuthFromKeychain(authn.DefaultKeychain))
		var answer *transport.Error
		if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
			fmt.Println(image)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// push writes the index of a tar to a registry, unless the name is taken by something else: a release is not changed.
func push(file, image string) (string, error) {
	reference, err := name.ParseReference(image)
	if err != nil {
		return "", err
	}
	folder, err := ocilayout.Unpack(file)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	index, err := only(folder)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	options := remote.WithAuthFromKeychain(authn.DefaultKeychain)
	var answer *transport.Error
	there, err := remote.Head(reference, options)
	switch {
	case err == nil && there.Digest == digest:
		return digest.String(), nil
	case err == nil:
		return "", fmt.Errorf("%s is %s already, and this is %s: a release that is out is not changed", image, there.Digest, digest)
	case !errors.As(err, &answer) || answer.StatusCode != http.StatusNotFound:
		return "", err
	}
	if err := remote.WriteIndex(reference, index, options); err != nil {
		return "", err
	}
	if there, err = remote.Head(reference, options); err != nil {
		return "", err
	}
	if there.Digest != digest {
		return "", fmt.Errorf("the registry has stored %s instead of %s", there.Digest, digest)
	}
	return digest.String(), nil
}

// only gives the one index that writeIndex put into a layout.
func only(folder string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("it has %d entries, and one index is wanted", len(manifest.Manifests))
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}
