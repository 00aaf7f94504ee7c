# shellcheck shell=bash
# How scripts build Rust.
#
# The manager's image holds nothing but the binary, so it is linked statically. A target has to be named for that, even the
# machine's own: without one the flag would reach procedural macros, which cannot be static. Tests are built in the same
# way, so that the image's manager and the tests' dependencies are one set of artifacts.

# rust_environment [TARGET]: every cargo after it builds static programs for that target (default: this machine's).
rust_environment() {
  local target=${1:-} variable
  command -v cargo >/dev/null || die "Rust's cargo is needed, and is not on PATH: install it from https://rustup.rs"
  require_programs "${RUST_PROGRAMS[@]}"
  [[ -n $target ]] || target=$(rustc -vV | sed -n 's/^host: //p')
  RUST_TARGET=$target
  export CARGO_BUILD_TARGET=$target
  variable=${target^^}
  export "CARGO_TARGET_${variable//-/_}_RUSTFLAGS=-C target-feature=+crt-static"
}

# In CI nothing may quietly change the lock file.
LOCKED=()
[[ ${CI:-} != true ]] || LOCKED=(--locked)

# rust_output PROFILE: the directory that programs of a profile are built into.
rust_output() {
  local profile=$1 folder
  # Only cargo knows where a configured target directory is.
  folder=$(cargo metadata --no-deps --format-version 1 | sed -E 's/.*"target_directory":"([^"]*)".*/\1/') || return 1
  if [[ $profile == dev || $profile == test ]]; then profile=debug; fi
  printf '%s/%s/%s' "$folder" "$RUST_TARGET" "$profile"
}

# xtask COMMAND...: scripts/test has built it with all the rest already.
xtask() {
  if [[ -n ${MULTI_OPERATOR_XTASK:-} ]]; then
    "$MULTI_OPERATOR_XTASK" "$@"
  else
    rust_environment
    cargo run --quiet --package xtask -- "$@"
  fi
}
