# shellcheck shell=bash
# The images of a release: one index a name, with an image for each of RELEASE_ARCHITECTURES. Their digests are known when they
# are built: what names them can be written at once, and a push changes nothing.

release_images() { "$(tool ours release-images)" "$@"; }

# release_name manager|bundle|catalog: as everybody will know it.
release_name() {
  case $1 in
    manager) printf '%s:%s' "$RELEASE_IMAGE" "$VERSION" ;;
    *) printf '%s-%s:%s' "$RELEASE_IMAGE" "$1" "$VERSION" ;;
  esac
}

# The same, or the target of --push-to.
pushed_name() {
  local name
  name=$(release_name "$1")
  if [[ -n $PUSH_TO ]]; then printf '%s/%s' "${PUSH_TO%/}" "${name##*/}"; else printf '%s' "$name"; fi
}

# digest_of manager|bundle|catalog
digest_of() { sed -n "s/^$1 .*@\(sha256:[0-9a-f]*\)\$/\1/p" "${2:-$NEW}/images.txt"; }

# Rust's name of an architecture.
rust_target() {
  case $1 in
    amd64) printf x86_64-unknown-linux-gnu ;;
    arm64) printf aarch64-unknown-linux-gnu ;;
    *) die "RELEASE_ARCHITECTURES of scripts/names.env: $1 is not known here; amd64 and arm64 are" ;;
  esac
}

# cross ARCHITECTURE COMMAND...: with Rust, a compiler and a linker for it, where it is not this machine's own.
cross() {
  local architecture=$1 target here
  shift
  here=$(go env GOHOSTARCH)
  if [[ $architecture == "$here" ]]; then
    "$@"
    return
  fi
  target=$(rust_target "$architecture")
  [[ -z ${MANAGER_BINARY:-} ]] || die "MANAGER_BINARY is for $here, and RELEASE_ARCHITECTURES has $architecture too"
  [[ $architecture == arm64 ]] || die "a machine of $here builds nothing for $architecture here"
  require_programs aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/include/stdlib.h:libc6-dev-arm64-cross
  # Where there is no rustup, cargo says itself what is missing.
  ! command -v rustup >/dev/null || rustup target list --installed | grep -qx "$target" || rustup target add "$target" >&2
  (
    export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    # Read by what builds.
    # shellcheck disable=SC2034
    MANAGER_TARGET=$target
    "$@"
  )
}

# join manager|bundle|catalog ARCHITECTURE=TAR...: the index, and a line in images.txt.
join() {
  local what=$1 name digest file
  shift
  name=$(release_name "$what")
  file=${name##*/}
  file=$NEW/${file%:*}-$VERSION.oci.tar
  digest=$(release_images index --output "$file" --name "$name" \
    --label "org.opencontainers.image.version=$VERSION" --label "org.opencontainers.image.revision=$COMMIT" \
    --label "org.opencontainers.image.source=$PROJECT_URL" --label org.opencontainers.image.licenses=Apache-2.0 "$@")
  printf '%s %s@%s\n' "$what" "$name" "$digest" >>"$NEW/images.txt"
  say "  $name@$digest: $(wc -c <"$file") bytes, for $RELEASE_ARCHITECTURES"
}

manager_index() {
  local architecture tar images=()
  for architecture in $RELEASE_ARCHITECTURES; do
    tar=$(cross "$architecture" manager_image)
    images+=("$architecture=$tar")
  done
  join manager "${images[@]}"
}

# Nothing in it is of an architecture, but a node only takes an image that is of its own.
bundle_index() {
  local architecture images=()
  bundle_image "$1" "$(release_name bundle)" "$WORK/bundle.tar"
  for architecture in $RELEASE_ARCHITECTURES; do images+=("$architecture=$WORK/bundle.tar"); done
  join bundle "${images[@]}"
}

# Programs of Go for ARCHITECTURE, in a cache of their own if they do not run here: opm, and what OLM's probes start in a
# catalog's pod. Prints their two paths.
catalog_programs() (
  if [[ $1 != "$(go env GOHOSTARCH)" ]]; then
    CACHE=$CACHE/$1
    export GOARCH=$1
  fi
  ensure_tools olm opm
  ensure_tools ours grpc_health_probe
  printf '%s\n' "$(tool olm opm)" "$(tool ours grpc_health_probe)"
)

catalog_index() {
  local architecture programs images=()
  ensure_tools olm opm
  for architecture in $RELEASE_ARCHITECTURES; do
    mapfile -t programs < <(catalog_programs "$architecture")
    ((${#programs[@]} == 2)) || die "opm cannot be built for $architecture"
    catalog_image "$1" "$(release_name catalog)" "$WORK/catalog-$architecture.tar" "${programs[@]}" ||
      die "opm created no cache of the catalog: $(tail -n 3 "$WORK/catalog-$architecture.tar.log")"
    images+=("$architecture=$WORK/catalog-$architecture.tar")
  done
  join catalog "${images[@]}"
}
