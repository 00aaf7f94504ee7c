# shellcheck shell=bash
# The runners that need no cluster with containers.

component() {
  cargo "$1" --version >/dev/null 2>&1 && return
  command -v rustup >/dev/null || die "cargo $1 is missing: install it beside cargo"
  rustup component add "$2" >&2 || die "rustup could not add $2"
}

format() { component fmt rustfmt && cargo fmt --all --check; }
clippy() { component clippy clippy && cargo clippy "${LOCKED[@]}" --quiet --workspace --all-targets -- -D warnings; }
unit() {
  cargo test "${LOCKED[@]}" --quiet --workspace --exclude e2e || return
  # Schedules that nobody has seen yet.
  [[ $ALL == no ]] || PROPTEST_CASES=3000 cargo test "${LOCKED[@]}" --quiet --workspace --exclude e2e properties
}
generated() { cargo xtask generate --check; }

# First whether the check finds what is wrong, then what it finds. Without KUBECONFIG it makes a cluster of its own.
manifests() { scripts/check-kustomize --self-test && scripts/check-kustomize; }

# go_test FAMILY: the tests of a program of ours in scripts/tools.
go_test() {
  require_go
  (cd "scripts/tools/$1" && CGO_ENABLED=0 GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false' go test -trimpath ./...)
}

# The validators are a program of ours around libraries: first whether it finds what is wrong, then what it finds.
bundle() { go_test bundle-validators && scripts/check-bundle; }

# What shellcheck finds in their `run` lines counts too, where it is installed, as on GitHub's runners.
workflows() {
  (ensure_tools actionlint actionlint) && "$(tool actionlint actionlint)" && go_test release-images
}

rules() { scripts/check-alerts; }
health() { scripts/check-health; }
