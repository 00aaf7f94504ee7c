// Package ocilayout packs the folder of an OCI image layout into a tar, and unpacks such a tar.
package ocilayout

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Annotations of an image or index in a layout's index.json: the first is the name that containerd gives it at an import,
// the second is the tag that other tools look for.
func Annotations(name string) map[string]string {
	return map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": name[strings.LastIndex(name, ":")+1:],
	}
}

// Pack writes a folder's files, sorted, without times and owners: the same files make the same tar.
func Pack(folder, output string) (err error) {
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	writer := tar.NewWriter(file)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		return packFile(writer, path, name)
	})
	if err != nil {
		return err
	}
	return writer.Close()
}

func packFile(writer *tar.Writer, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name: name, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(writer, file)
	return err
}

// Unpack unpacks the tar of a layout into a new folder, which the caller removes.
func Unpack(name string) (string, error) {
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
			return "", errors.Join(err, os.RemoveAll(folder))
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
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
