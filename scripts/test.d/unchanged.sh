# shellcheck shell=bash
# Steps whose inputs are what they were when they last passed on this machine.

# tree_hash [PATH...]: of the files that git knows or would add, as they are now.
tree_hash() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | sort -z |
    while IFS= read -rd '' file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done | xargs -0 sha256sum | sha256sum | cut -c1-12
}

# What each of these steps reads, as paths of the repository. Every other step runs always.
declare -A STAGE_INPUTS=(
  [shell]='. .shellcheckrc' [spelling]='.' [workflows]='.github scripts' [go-checks]='scripts benches'
  [rules]='config docs/runbooks scripts' [health]='kustomize operators scripts' [manifests]='config kustomize operators scripts'
  [bundle]='bundle config operators scripts catalog'
)

# inputs_hash STAGE: of what it reads, the toolchain included.
inputs_hash() {
  [[ -n ${STAGE_INPUTS[$1]:-} ]] || return 0
  # shellcheck disable=SC2086
  { tree_hash ${STAGE_INPUTS[$1]}; go version 2>/dev/null; uname -m; } | sha256sum | cut -c1-12
}

# is_unchanged STAGE: says so in a line. Never in CI, nor with --again.
is_unchanged() {
  local mark
  [[ ${CI:-} != true && $AGAIN == no && -n ${STAGE_INPUTS[$1]:-} ]] || return 1
  mark=$CACHE/passed/$1-$(inputs_hash "$1")
  [[ -e $mark ]] || return 1
  say "-- $1: unchanged since it passed here on $(date -r "$mark" '+%Y-%m-%d %H:%M'), inputs ${mark##*-}: not run (--again runs it)"
}

# remember_passing STAGE HASH: with the hash from before it ran, as files may have been edited meanwhile.
remember_passing() {
  [[ -n $2 ]] || return 0
  mkdir -p "$CACHE/passed"
  rm -f "$CACHE/passed/$1"-*
  : >"$CACHE/passed/$1-$2"
}
