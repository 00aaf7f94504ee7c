package main

import (
	"archive/tar"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// rootfs writes a tar as mmdebstrap does: with owners, names of users, times, attributes and devices.
func rootfs(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rootfs.tar")
	file, err := os.Create(name)
	check(t, err)
	defer file.Close()
	writer := tar.NewWriter(file)
	now := time.Now()
	for _, header := range []*tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./bin/ping", Typeflag: tar.TypeReg, Mode: 0o4755, Size: 4, Uid: 999, Gid: 998, Uname: "postgres", Gname: "postgres",
			PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02", "MADE.by": "this machine"}},
		{Name: "./bin/pong", Typeflag: tar.TypeLink, Linkname: "./bin/ping"},
		{Name: "./bin/sh", Typeflag: tar.TypeSymlink, Linkname: "ping"},
		{Name: "./dev/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
		{Name: "./dev/sda", Typeflag: tar.TypeBlock, Devmajor: 8},
	} {
		header.ModTime, header.AccessTime, header.Format = now, now, tar.FormatPAX
		check(t, writer.WriteHeader(header))
		if header.Size > 0 {
			_, err := writer.Write([]byte("ping"))
			check(t, err)
		}
	}
	check(t, writer.Close())
	return name
}

func TestARootFileSystemKeepsAllButTimesUserNamesAndDevices(t *testing.T) {
	o := some(t)
	o.content, o.rootfs = content{}, rootfs(t)
	_, image := made(t, o)
	headers, contents := members(t, image)
	byName := map[string]*tar.Header{}
	for _, header := range headers {
		byName[header.Name] = header
		if !header.ModTime.Equal(time.Unix(0, 0)) || !header.AccessTime.IsZero() || header.Uname != "" || header.Gname != "" {
			t.Errorf("%s keeps of the machine: %+v", header.Name, header)
		}
	}
	if len(headers) != 4 || byName["./dev/null"] != nil || byName["./dev/sda"] != nil {
		t.Fatalf("%v", contents)
	}
	program := byName["./bin/ping"]
	if program.Uid != 999 || program.Gid != 998 || program.Mode != 0o4755 || contents["./bin/ping"] != "ping" {
		t.Errorf("%+v", program)
	}
	if program.PAXRecords["SCHILY.xattr.security.capability"] != "\x01\x00\x00\x02" || program.PAXRecords["MADE.by"] != "" {
		t.Errorf("attributes: %q", program.PAXRecords)
	}
	if byName["./bin/pong"].Linkname != "./bin/ping" || byName["./bin/sh"].Linkname != "ping" {
		t.Errorf("links: %+v, %+v", byName["./bin/pong"], byName["./bin/sh"])
	}
}

func TestATarThatIsCutOffIsAnError(t *testing.T) {
	name := rootfs(t)
	check(t, os.Truncate(name, 3000))
	o := some(t)
	o.content, o.rootfs = content{}, name
	if _, err := write(o); err == nil {
		t.Error("half a root file system was made an image")
	}
}
