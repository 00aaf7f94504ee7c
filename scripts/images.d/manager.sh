# shellcheck shell=bash
# The manager's own image: one static binary and the certificates of public authorities, nothing else.
# Containerfile at the repository root makes the same for users of docker and podman.

MANAGER_TARGET=${MANAGER_TARGET:-x86_64-unknown-linux-gnu}
MANAGER_PROFILE=${MANAGER_PROFILE:-release}
MANAGER_FEATURES=${MANAGER_FEATURES:-}

# MANAGER_BINARY skips the build: any static binary will do.
manager_binary() {
  local root=$SCRIPTS/.. target
  if [[ -n ${MANAGER_BINARY:-} ]]; then
    realpath "$MANAGER_BINARY"
    return
  fi
  command -v cargo >/dev/null || die "the manager is built with Rust's cargo, which is not here"
  say "building the manager (profile $MANAGER_PROFILE)"
  (cd "$root" && RUSTFLAGS='-C target-feature=+crt-static' cargo build --quiet --locked --profile "$MANAGER_PROFILE" \
    --target "$MANAGER_TARGET" -p manager ${MANAGER_FEATURES:+--features "$MANAGER_FEATURES"}) >&2 ||
    die "building the manager failed"
  target=$(cd "$root" && cargo metadata --no-deps --format-version 1 | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
  printf '%s/%s/%s/manager' "$target" "$MANAGER_TARGET" "$(profile_folder "$MANAGER_PROFILE")"
}

profile_folder() { if [[ $1 == dev ]]; then printf debug; else printf '%s' "$1"; fi; }

manager_image() {
  local binary certificates=/etc/ssl/certs/ca-certificates.crt tar name=$MANAGER_IMAGE:$MANAGER_TAG
  [[ -s $certificates ]] || require_programs "$certificates:ca-certificates"
  binary=$(manager_binary)
  # A binary that needs a loader would not start in an empty image: "no such file", about a file that is there.
  if [[ $(LC_ALL=C od -An -c -j1 -N3 "$binary" | tr -d ' ') != ELF ]] || grep -qa '/lib64/ld-linux' <(head -c 4096 "$binary"); then
    die "$binary is not a static Linux binary"
  fi
  tar=$IMAGES/manager-$( (sha256sum <"$binary" && sha256sum <"$certificates" && printf '%s' "$name" && family_folder oci-image) | key_of).tar
  [[ -s $tar ]] || write_image "$tar" --name "$name" --user 65532:65532 --entrypoint /manager \
    --file "$binary:/manager:755" --file "$certificates:/etc/ssl/certs/ca-certificates.crt:644" \
    --label org.opencontainers.image.title=multi-operator
  printf '%s' "$tar"
}
