package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

// What a volume of true size is kept in, beside the folder that it is mounted at.
const image = ".ext4"

// loopDevices mounts file systems that are in files: they get full.
type loopDevices struct {
	run func(name string, arguments ...string) error
}

func (l loopDevices) make(path string, size int64) error {
	if l.run("mountpoint", "--quiet", path) == nil {
		return nil
	}
	if _, err := os.Stat(path + image); errors.Is(err, fs.ErrNotExist) {
		if err := l.format(path+image, size); err != nil {
			return err
		}
	}
	if err := l.run("mount", "-o", "loop", path+image, path); err != nil {
		return err
	}
	// A database takes a folder with something in it for somebody else's.
	if err := os.Remove(filepath.Join(path, "lost+found")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// format makes the file under another name first: under its own it is always a whole file system.
func (l loopDevices) format(name string, size int64) error {
	partial := name + ".partial"
	err := os.WriteFile(partial, nil, 0o600)
	if err == nil {
		err = os.Truncate(partial, size)
	}
	if err == nil {
		err = l.run("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", partial)
	}
	if err != nil {
		return errors.Join(err, os.Remove(partial))
	}
	return os.Rename(partial, name)
}

func (l loopDevices) remove(path string) error {
	if _, err := os.Stat(path + image); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// It may not be mounted any more, and a pod that is still ending may have it open.
	if err := l.run("umount", "--lazy", path); err != nil {
		log.Print(err)
	}
	return os.Remove(path + image)
}

func run(name string, arguments ...string) error {
	said, err := exec.Command(name, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, arguments, err, said)
	}
	return nil
}
