package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// How to create each kind of file system. Its name is the suffix of the file that holds it, next to the directory where it is
// mounted. One that grows while it is in use is xfs: for ext4 the kernel requires CAP_SYS_RESOURCE, which root does not have in
// every container.
var formats = map[string][]string{
	"ext4": {"mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal"},
	"xfs":  {"mkfs.xfs", "-q", "-f"},
}

// loopDevices mounts file systems that are in files: they get full.
type loopDevices struct {
	ask func(name string, arguments ...string) (string, error)
}

func (l loopDevices) run(name string, arguments ...string) error {
	_, err := l.ask(name, arguments...)
	return err
}

func (l loopDevices) make(path, kind string, size int64) error {
	if l.run("mountpoint", "--quiet", path) == nil {
		return nil
	}
	file := path + "." + kind
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := l.format(file, kind, size); err != nil {
			return err
		}
	}
	if err := l.run("mount", "-o", "loop", file, path); err != nil {
		return err
	}
	// A database takes a directory that is not empty for foreign data.
	if err := os.Remove(filepath.Join(path, "lost+found")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// format creates the file under another name first: under its own it is always a complete file system.
func (l loopDevices) format(name, kind string, size int64) error {
	command, known := formats[kind]
	if !known {
		return fmt.Errorf("fileSystem of the StorageClass is %q: ext4 and xfs are known", kind)
	}
	partial := name + ".partial"
	err := os.WriteFile(partial, nil, 0o600)
	if err == nil {
		err = os.Truncate(partial, size)
	}
	if err == nil {
		err = l.run(command[0], append(command[1:len(command):len(command)], partial)...)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return os.Rename(partial, name)
}

func (l loopDevices) grow(path string, size int64) error {
	file := path + ".xfs"
	if info, err := os.Stat(file); err != nil {
		return err
	} else if info.Size() < size {
		if err := os.Truncate(file, size); err != nil {
			return err
		}
	}
	// A try that got no further than the file is taken up: both do nothing where there is nothing to do.
	devices, err := l.ask("losetup", "--noheadings", "--output", "NAME", "--associated", file)
	device := strings.TrimSpace(devices)
	if err != nil || device == "" {
		return fmt.Errorf("%s has no loop device: %w", file, errors.Join(err, fs.ErrNotExist))
	}
	if err := l.run("losetup", "--set-capacity", device); err != nil {
		return err
	}
	return l.run("xfs_growfs", path)
}

func (l loopDevices) remove(path string) error {
	for kind := range formats {
		file := path + "." + kind
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		// It may not be mounted any more, and a pod that is still ending may have it open.
		if err := l.run("umount", "--lazy", path); err != nil {
			log.Print(err)
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// ask runs a program; what it says is in the error, too.
func ask(name string, arguments ...string) (string, error) {
	said, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", name, arguments, err, said)
	}
	return string(said), nil
}
