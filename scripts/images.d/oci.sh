# shellcheck shell=bash
# Writes OCI image tars to the cache. Each has its manifest's digest next to it, in <tar>.digest.

IMAGES=$CACHE/images

# The sources that decide the bytes of an image. They are in the key of every image; the rest of scripts/tools is not, so that a
# change of another program rebuilds no image.
image_writer() {
  (cd "$SCRIPTS/tools" && find cmd/oci-image internal/ocilayout -name '*.go' ! -name '*_test.go' -exec sha256sum {} + | LC_ALL=C sort &&
    grep -F 'github.com/google/go-containerregistry v' go.mod)
}

# write_image TAR OPTIONS...: with the small Go program that writes the same bytes for the same input.
write_image() {
  local tar=$1
  shift
  ensure_tools ours oci-image
  mkdir -p "$IMAGES"
  "$(tool ours oci-image)" --output "$tar.new.$$" "$@" >"$tar.digest"
  mv "$tar.new.$$" "$tar"
}

# key_of TEXT-OR-FILES-ON-STDIN: ten digits that change with the input.
key_of() { sha256sum | cut -c1-10; }

# The first process of every pod. Prints the tar's path, as all the functions here do.
pause_image() {
  local source=$SCRIPTS/tools/pause/pause.c tar
  tar=$IMAGES/pause-$( (cat "$source" && image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    mkdir -p "$IMAGES"
    gcc -Os -static -s -o "$IMAGES/pause.$$" "$source"
    write_image "$tar" --name "$SANDBOX_IMAGE" --file "$IMAGES/pause.$$:/pause:755" --entrypoint /pause --user 65535:65535
    rm -f "$IMAGES/pause.$$"
  fi
  printf '%s' "$tar"
}
