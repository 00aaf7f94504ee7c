# shellcheck shell=bash
# The manager's own image: two static binaries and the certificates of public authorities, nothing else. /manager is the manager,
# and etcd-operator in the PATH; the manager copies /agent into the pods of operands. Containerfile at the repository root builds
# the same for users of docker and podman.

# The target that it is built for: this machine's own when empty.
MANAGER_TARGET=${MANAGER_TARGET:-}
MANAGER_PROFILE=${MANAGER_PROFILE:-release}
MANAGER_FEATURES=${MANAGER_FEATURES:-}

# MANAGER_BINARY skips the build: any static binary will do. The agent is AGENT_BINARY, or the one next to the manager.
manager_binary() {
  if [[ -n ${MANAGER_BINARY:-} ]]; then
    realpath "$MANAGER_BINARY"
    return
  fi
  say "building the manager and its agent (profile $MANAGER_PROFILE)"
  printf '%s/manager' "$(static_binaries manager agent)"
}

# static_binaries PACKAGE...: builds these packages' programs, and prints the directory that they are in.
static_binaries() {
  local package packages=() features=()
  for package in "$@"; do
    packages+=(-p "$package")
    [[ $package != manager || -z $MANAGER_FEATURES ]] || features=(--features "$MANAGER_FEATURES")
  done
  rust_environment "$MANAGER_TARGET"
  cd "$SCRIPTS/.." || die "there is no directory $SCRIPTS/.."
  cargo build --quiet --locked --profile "$MANAGER_PROFILE" "${packages[@]}" "${features[@]}" >&2 || die "building $* failed"
  rust_output "$MANAGER_PROFILE"
}

# without_debug_information PROGRAM TO: keeps what a backtrace needs; a development build is a third of its size then. A release
# build has none, and is copied as it is.
without_debug_information() {
  if grep -qa '\.debug_info' "$1"; then
    require_programs objcopy:binutils
    objcopy --strip-debug "$1" "$2"
  else
    cp "$1" "$2"
  fi
}

# A binary that needs a loader would not start in an empty image: "no such file", about a file that is there.
require_static() {
  if [[ $(LC_ALL=C od -An -c -j1 -N3 "$1" | tr -d ' ') != ELF ]] || grep -qa '/lib64/ld-linux' <(head -c 4096 "$1"); then
    die "$1 is not a static Linux binary"
  fi
}

# manager_image [NAME OPTION...]: by another name, and with further options of write_image. MANAGER_IMAGE_TAR is the image by its
# usual name, built before.
manager_image() {
  local manager agent
  if (($# == 0)) && [[ -n ${MANAGER_IMAGE_TAR:-} ]]; then
    printf '%s' "$MANAGER_IMAGE_TAR"
    return
  fi
  manager=$(manager_binary)
  agent=${AGENT_BINARY:-${manager%/*}/agent}
  [[ -e $agent ]] || die "there is no agent next to $manager: AGENT_BINARY says where it is"
  image_of_manager "${1:-$MANAGER_IMAGE:$MANAGER_TAG}" "$manager" "$agent" "${@:2}"
}

# image_of_manager NAME MANAGER AGENT OPTION...
image_of_manager() {
  local name=$1 manager=$2 agent=$3 certificates=/etc/ssl/certs/ca-certificates.crt tar slim
  [[ -s $certificates ]] || require_programs "$certificates:ca-certificates"
  require_static "$manager"
  require_static "$agent"
  tar=$IMAGES/manager-$( (sha256sum <"$manager" && sha256sum <"$agent" && sha256sum <"$certificates" && printf '%s' "$name" "${@:4}" &&
    declare -f image_of_manager without_debug_information && image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    mkdir -p "$IMAGES"
    slim=$(mktemp -d "$IMAGES/manager.XXXXXX")
    trap 'rm -rf "${slim:-}"' EXIT
    without_debug_information "$manager" "$slim/manager"
    without_debug_information "$agent" "$slim/agent"
    write_image "$tar" --name "$name" --user 65532:65532 --entrypoint /manager \
      --file "$slim/manager:/manager:755" --file "$slim/agent:/agent:755" --symlink /manager:/usr/local/bin/etcd-operator \
      --file "$certificates:/etc/ssl/certs/ca-certificates.crt:644" --env PATH=/usr/local/bin:/usr/bin:/bin \
      --label org.opencontainers.image.title=multi-operator "${@:4}"
    rm -rf "$slim"
  fi
  printf '%s' "$tar"
}
