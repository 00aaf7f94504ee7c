package main

import (
	"archive/tar"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// content is what an image without a root file system holds, as the command line has it.
type content struct{ files, symlinks, folders list }

func (c content) empty() bool { return len(c.files)+len(c.symlinks)+len(c.folders) == 0 }

// write writes the tar of the content: folders first, parents before what is in them, then files, then links.
func (c content) write(to io.Writer) error {
	entries, err := c.parse()
	if err != nil {
		return err
	}
	writer := tar.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(entries.folders)) {
		if err := addEmpty(writer, tar.TypeDir, name+"/", "", entries.folders[name]); err != nil {
			return err
		}
	}
	for _, file := range entries.files {
		if err := addFile(writer, file); err != nil {
			return err
		}
	}
	for _, link := range entries.symlinks {
		if err := addEmpty(writer, tar.TypeSymlink, link.name, link.target, 0o777); err != nil {
			return err
		}
	}
	return writer.Close()
}

type file struct {
	source, target string
	mode           int64
}

type symlink struct{ target, name string }

type entries struct {
	files    []file
	symlinks []symlink
	// Modes by name.
	folders map[string]int64
}

func (c content) parse() (*entries, error) {
	e := &entries{folders: map[string]int64{}}
	for _, option := range c.files {
		parts := strings.Split(option, ":")
		if len(parts) != 3 || !path.IsAbs(parts[1]) {
			return nil, fmt.Errorf("--file %s: want SOURCE:/TARGET:MODE", option)
		}
		mode, err := strconv.ParseInt(parts[2], 8, 64)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", option, err)
		}
		e.files = append(e.files, file{parts[0], inside(parts[1]), mode})
		e.addParents(inside(parts[1]))
	}
	for _, option := range c.symlinks {
		target, name, _ := strings.Cut(option, ":")
		if target == "" || !path.IsAbs(name) {
			return nil, fmt.Errorf("--symlink %s: want TARGET:/PATH", option)
		}
		e.symlinks = append(e.symlinks, symlink{target, inside(name)})
		e.addParents(inside(name))
	}
	for _, option := range c.folders {
		name, octal, _ := strings.Cut(option, ":")
		mode, err := strconv.ParseInt(octal, 8, 64)
		if err != nil || !path.IsAbs(name) {
			return nil, fmt.Errorf("--folder %s: want /PATH:MODE", option)
		}
		e.folders[inside(name)] = mode
		e.addParents(inside(name))
	}
	return e, nil
}

func (e *entries) addParents(name string) {
	for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
		if _, known := e.folders[folder]; !known {
			e.folders[folder] = 0o755
		}
	}
}

// inside is a path of the image as a tar has it: without a slash in front.
func inside(name string) string { return strings.TrimPrefix(path.Clean(name), "/") }

func addFile(writer *tar.Writer, file file) error {
	source, err := os.Open(file.source)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{
		Name: file.target, Mode: file.mode, Size: info.Size(), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(writer, source)
	return err
}

func addEmpty(writer *tar.Writer, kind byte, name, target string, mode int64) error {
	return writer.WriteHeader(&tar.Header{
		Name: name, Linkname: target, Mode: mode, Typeflag: kind, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	})
}
