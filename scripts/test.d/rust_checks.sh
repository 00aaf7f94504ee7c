# shellcheck shell=bash
# Checks of the Rust code: no root, no cluster.

component() {
  cargo "$1" --version >/dev/null 2>&1 && return
  command -v rustup >/dev/null || die "cargo $1 is missing: install it next to cargo"
  rustup component add "$2" >&2 || die "rustup could not add $2"
}

# Packages that a run is about, as options of cargo: all, or with --changed those that the change can affect.
PACKAGES=(--workspace)

format() { component fmt rustfmt && cargo fmt --all --check; }

# Tests and programs of all packages in one go: cargo unites the features of what it builds together, so that what is
# built piece by piece is built several times. The list of test binaries is for those who run them.
build() {
  local events=$RUN_FOLDER/cargo.jsonl
  cargo build "${LOCKED[@]}" --quiet "${PACKAGES[@]}" --all-targets --message-format json-render-diagnostics >"$events" || return
  # Events are a line each; of their content only the names of files and directories are free text, and this project's have no
  # quotes.
  sed -nE '/"reason":"compiler-artifact"/{
    /"profile":\{[^}]*"test":true/{
      /"executable":"/s/.*"manifest_path":"([^"]*)\/Cargo.toml".*"target":\{[^}]*"name":"([^"]*)".*"executable":"([^"]*)".*/\1 \2 \3/p
    }
  }' "$events" >"$RUN_FOLDER/binaries"
  [[ -s $RUN_FOLDER/binaries ]] || { say "cargo named no test binary"; return 1; }
  if [[ -n ${BUILT:-} ]]; then
    # The manager and its agent are those of the release. Programs that tests need are searched next to them.
    cp "$(rust_output dev)/etcd-writer" "${MANAGER_BINARY%/*}/"
  elif [[ ${RELEASE:-no} == yes ]]; then
    cargo build "${LOCKED[@]}" --quiet --release -p manager -p agent -p etcd-writer
  fi
}

clippy() { component clippy clippy && cargo clippy "${LOCKED[@]}" --quiet "${PACKAGES[@]}" --all-targets -- -D warnings; }

# Private items too: their links lead contributors.
docs() { RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' cargo doc "${LOCKED[@]}" --quiet --no-deps --document-private-items "${PACKAGES[@]}"; }

generated() { "$MULTI_OPERATOR_XTASK" generate --check; }

# run_tests NAME DIRECTORY BINARY OPTION...: one test binary, in its package's directory as cargo runs it. It says what it does as
# JSON, an interface that libtest keeps for nightly compilers: the variable is set for the binary alone, after it was built.
run_tests() {
  local name=$1 folder=$2 binary=$3
  shift 3
  printf '{"type":"binary","name":"%s"}\n' "$name"
  (cd "$folder" && CARGO_MANIFEST_DIR=$folder RUSTC_BOOTSTRAP=1 "$binary" -Z unstable-options --format json "$@")
}

# record SUITE: a line for each test whose events come in, its seconds for the report, and the oldest that runs for the heartbeat.
record() { "$TIMINGS_PROGRAM" tests --suite "$1" --output "$RUN_FOLDER/tests.jsonl" --running "$RUN_FOLDER/$1.running"; }

# Suites of tests/ need a cluster and are stages of their own; its helpers have unit tests, too. Prints directory, binary, and a
# name that no two share: of a package's own tests its directory, of others the file too.
unit_binaries() {
  local folder name binary package
  while read -r folder name binary; do
    package=${folder##*/}
    [[ $folder != "$PWD/tests" || $name == e2e ]] || continue
    [[ $name == "${package//-/_}" || $name == "$package" || $name == e2e ]] || package+=/$name
    printf '%s %s %s\n' "$folder" "$binary" "$package"
  done <"$RUN_FOLDER/binaries"
}

# A binary that crashes is noticed by what it leaves unsaid, and the others run all the same.
unit() {
  local folder binary name chosen=$RUN_FOLDER/unit-binaries
  unit_binaries >"$chosen"
  choose_packages "$chosen"
  [[ ! -s $chosen ]] || while read -r folder binary name; do
    run_tests "$name" "$folder" "$binary" </dev/null
  done <"$chosen" | record unit || return
  remember_slices
  cargo test "${LOCKED[@]}" --quiet "${PACKAGES[@]}" --doc
}
