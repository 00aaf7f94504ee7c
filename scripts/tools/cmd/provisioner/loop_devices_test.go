package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// commands is a fake of the system's programs: it records the calls, and fails for those named in fail.
type commands struct {
	ran  []string
	fail map[string]bool
	said map[string]string
}

func (c *commands) ask(name string, arguments ...string) (string, error) {
	c.ran = append(c.ran, name+" "+filepath.Base(arguments[len(arguments)-1]))
	if c.fail[name] {
		return "", errors.New(name + " failed")
	}
	return c.said[name], nil
}

func TestAFileSystemIsCreatedOnceAndMountedIfItIsNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pvc-1")
	if err := os.MkdirAll(filepath.Join(path, "lost+found"), 0o755); err != nil {
		t.Fatal(err)
	}
	system := &commands{fail: map[string]bool{"mountpoint": true}}
	for range 2 {
		if err := (loopDevices{system.ask}).make(path, "ext4", 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	wanted := []string{"mountpoint pvc-1", "mkfs.ext4 pvc-1.ext4.partial", "mount pvc-1", "mountpoint pvc-1", "mount pvc-1"}
	if !reflect.DeepEqual(system.ran, wanted) {
		t.Errorf("%q", system.ran)
	}
	if info, err := os.Stat(path + ".ext4"); err != nil || info.Size() != 1<<20 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(path, "lost+found")); !os.IsNotExist(err) {
		t.Error("lost+found is still there")
	}

	mounted := &commands{}
	if err := (loopDevices{mounted.ask}).make(path, "ext4", 1<<20); err != nil || !reflect.DeepEqual(mounted.ran, []string{"mountpoint pvc-1"}) {
		t.Errorf("%v, %q", err, mounted.ran)
	}
}

func TestAFileSystemThatCouldNotBeCreatedIsRecreated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pvc-1")
	system := &commands{fail: map[string]bool{"mountpoint": true, "mkfs.ext4": true}}
	if err := (loopDevices{system.ask}).make(path, "ext4", 1<<20); err == nil {
		t.Fatal("a file without a file system is mounted")
	}
	if err := (loopDevices{system.ask}).make(path, "zfs", 1<<20); err == nil || !strings.Contains(err.Error(), "ext4 and xfs") {
		t.Errorf("%v", err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	system.fail["mkfs.ext4"] = false
	if err := (loopDevices{system.ask}).make(path, "ext4", 1<<20); err != nil {
		t.Error(err)
	}
}

func TestAFileSystemGrowsWithItsFileAndAgainAfterATryThatGotNoFurther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pvc-1")
	if err := os.WriteFile(path+".xfs", make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	system := &commands{said: map[string]string{"losetup": "/dev/loop7\n"}, fail: map[string]bool{"xfs_growfs": true}}
	for _, fails := range []bool{true, false} {
		system.ran, system.fail["xfs_growfs"] = nil, fails
		if err := (loopDevices{system.ask}).grow(path, 20); (err != nil) != fails {
			t.Errorf("%v", err)
		}
		if wanted := []string{"losetup pvc-1.xfs", "losetup loop7", "xfs_growfs pvc-1"}; !reflect.DeepEqual(system.ran, wanted) {
			t.Errorf("%q", system.ran)
		}
		if info, err := os.Stat(path + ".xfs"); err != nil || info.Size() != 20 {
			t.Errorf("%v, %v", info, err)
		}
	}
	system.said = nil
	if err := (loopDevices{system.ask}).grow(path, 20); err == nil || !strings.Contains(err.Error(), "no loop device") {
		t.Errorf("%v", err)
	}
}

func TestAFileSystemIsUnmountedBeforeItsFileGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pvc-1")
	system := &commands{}
	devices := loopDevices{system.ask}
	if err := devices.remove(path); err != nil || len(system.ran) != 0 {
		t.Fatalf("%v, %q", err, system.ran)
	}
	for _, fails := range []bool{false, true} {
		system.fail = map[string]bool{"umount": fails}
		if err := os.WriteFile(path+".xfs", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := devices.remove(path); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path + ".xfs"); !os.IsNotExist(err) {
			t.Error("its file is still there")
		}
	}
	if !strings.HasPrefix(system.ran[0], "umount") {
		t.Errorf("%q", system.ran)
	}
}

func TestWhatAProgramSaysIsInTheError(t *testing.T) {
	if _, err := ask("ls", "/nowhere"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("%v", err)
	}
}
