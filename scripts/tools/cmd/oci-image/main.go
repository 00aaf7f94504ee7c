// Command oci-image writes an OCI image of one layer as the tar of an OCI layout, from a root file system's tar or from single
// files, and prints the digest of its manifest.
//
// The same input gives the same bytes: times are the epoch, owners of single files are root, and nothing of the
// machine that builds it gets in. The layer is not compressed: the tar is read on this machine, and release-images compresses
// what a registry is given.
package main

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// options are what the command line asks for.
type options struct {
	names, entrypoint, command, env, labels list
	user, stopSignal, workdir               string
	output, rootfs, platform                string
	content                                 content
}

func main() {
	log.SetFlags(0)
	var o options
	flag.Var(&o.names, "name", "a full name of the image, with a tag (repeatable)")
	flag.StringVar(&o.output, "output", "", "the tar to write")
	flag.StringVar(&o.rootfs, "rootfs", "", "tar of a root file system (instead of --file)")
	flag.StringVar(&o.platform, "platform", "linux/"+runtime.GOARCH, "what the image's programs run on: OS/ARCHITECTURE")
	flag.StringVar(&o.user, "user", "", "user that the entry point runs as")
	flag.StringVar(&o.stopSignal, "stop-signal", "", "signal that stops it")
	flag.StringVar(&o.workdir, "workdir", "/", "directory in which the entry point starts")
	flag.Var(&o.content.files, "file", "SOURCE:/TARGET:MODE, a single file (repeatable)")
	flag.Var(&o.content.symlinks, "symlink", "TARGET:/PATH, a symbolic link at PATH (repeatable)")
	flag.Var(&o.content.folders, "folder", "/PATH:MODE, an empty directory; those of files and links are created anyway (repeatable)")
	flag.Var(&o.entrypoint, "entrypoint", "one word of the entry point (repeatable)")
	flag.Var(&o.command, "cmd", "one word of the default arguments (repeatable)")
	flag.Var(&o.env, "env", "NAME=VALUE (repeatable)")
	flag.Var(&o.labels, "label", "NAME=VALUE (repeatable)")
	flag.Parse()
	if err := o.check(); err != nil {
		log.Fatal(err)
	}
	digest, err := write(o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(digest)
}

func (o options) check() error {
	if len(o.names) == 0 || o.output == "" || (o.rootfs == "") == o.content.empty() {
		return fmt.Errorf("needed: --name, --output, and either --rootfs or some of --file, --symlink and --folder")
	}
	for _, each := range o.names {
		// A name without a tag would be imported as one that no manifest asks for.
		if _, err := name.NewTag(each, name.StrictValidation); err != nil {
			return fmt.Errorf("--name %s: %w", each, err)
		}
	}
	if platform, err := v1.ParsePlatform(o.platform); err != nil || platform.OS == "" || platform.Architecture == "" {
		return fmt.Errorf("--platform %s: want OS/ARCHITECTURE", o.platform)
	}
	return nil
}
