# shellcheck shell=bash
# The checks of this project's Go code: gofmt, go vet and go test for each of its modules.
#
# Of the pins, those with a main package of our own are vetted: coredns and the etcd families, whose dependencies a cluster and
# its images need anyway; and by the part network-policy, which alone needs it, kube-router. etcd-3.2 is left out, which Go only
# compiles with a file removed; and so are those that have no code of ours, only imports for go.mod, which a build tag keeps out
# of every build.

GO_MODULES=(scripts/tools benches/load benches/peers/controller-runtime)
GO_PINS=(coredns etcd etcd-3.5 etcd-3.6 etcd-3.7)
PART_PINS=(kube-router)

# go_in DIRECTORY ARGUMENT...: go in a module, with nothing but what its go.mod and go.sum name. As in builds, paths and debug
# information are left out: so what a build has compiled is not compiled again.
go_in() { (cd "$1" && CGO_ENABLED=0 GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false -trimpath -gcflags=all=-dwarf=false' go "${@:2}"); }

# Each pin that is vetted has Go code of this project, and each that has such code is vetted.
go_pins_complete() {
  local found
  found=$(grep -L '^//go:build tools$' scripts/tools/pins/*/*.go | xargs -n 1 dirname | xargs -n 1 basename | grep -vx etcd-3.2 | sort -u)
  [[ $found == "$(printf '%s\n' "${GO_PINS[@]}" "${PART_PINS[@]}" | sort)" ]] || {
    say "GO_PINS and PART_PINS of scripts/test.d/go.sh do not list the pins with code of this project: $(paste -s -d ' ' <<<"$found")"
    return 1
  }
}

go_checks() {
  local module unformatted
  require_go
  go_pins_complete || return
  unformatted=$(gofmt -l scripts/tools benches) || return
  [[ -z $unformatted ]] || { say "gofmt would change: $unformatted"; return 1; }
  for module in "${GO_MODULES[@]}"; do
    go_in "$module" vet ./... || return
    go_in "$module" test ./... || return
  done
  vet_pins "${GO_PINS[@]}"
}

vet_pins() {
  local pin
  for pin in "$@"; do go_in "scripts/tools/pins/$pin" vet . || return; done
}
