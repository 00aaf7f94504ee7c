# shellcheck shell=bash
# Steps whose inputs are what they were when they last passed on this machine.

# tree_files [PATH...]: those that git knows or would add and that are there, each ended by a zero byte.
tree_files() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | sort -zu |
    while IFS= read -rd '' file; do [[ ! -f $file ]] || printf '%s\0' "$file"; done
}

# tree_hash [PATH...]: of these files as they are now.
tree_hash() { tree_files "$@" | xargs -0 sha256sum | sha256sum | cut -c1-12; }

# What each of these steps reads, as paths of the repository. Every other step runs always; so does `bundle`, whose answer
# depends on tags, too.
declare -A STAGE_INPUTS=(
  [shell]='scripts .shellcheckrc .github' [spelling]='.' [workflows]='.github scripts' [go-checks]='scripts benches'
  [rules]='config docs/runbooks kustomize scripts' [health]='config/crd kustomize operators scripts tests/argocd' [manifests]='config kustomize scripts docs/gitops.md'
)

# What else decides what a step finds: the output of these commands. One that fails leaves the step without a hash, so it runs.
declare -A STAGE_ASKS=([shell]=shell_says [spelling]='codespell --version' [workflows]='shellcheck --version'
  [manifests]='manager_says')

# Overlays set the manager's variables: which there are, it says itself. It is there once the build has passed.
manager_says() { "$MANAGER_BINARY" --help; }

# inputs_hash STAGE: of what it reads, the toolchain included.
inputs_hash() {
  local asked=''
  [[ -n ${STAGE_INPUTS[$1]:-} ]] || return 0
  if [[ -n ${STAGE_ASKS[$1]:-} ]]; then
    # shellcheck disable=SC2086
    asked=$(${STAGE_ASKS[$1]} 2>/dev/null) || return 0
  fi
  # shellcheck disable=SC2086
  { tree_hash ${STAGE_INPUTS[$1]}; printf '%s\n' "$asked"; go version 2>/dev/null; uname -m; } | sha256sum | cut -c1-12
}

# with_its_inputs STAGE COMMAND...: runs the command in a copy of the files that the stage is said to read, and of no others: an
# input that is missing above fails there, instead of being overlooked when it changes.
with_its_inputs() {
  local folder=$RUN_FOLDER/inputs/$1
  mkdir -p "$folder"
  # shellcheck disable=SC2086
  tree_files ${STAGE_INPUTS[$1]} | xargs -0 cp --parents --target-directory "$folder" && cd "$folder" && "${@:2}"
}

# is_unchanged STAGE: says so in a line. Never in CI, nor with --again.
is_unchanged() {
  [[ ${CI:-} != true && $AGAIN == no ]] || return 1
  is_marked "$1" "$(inputs_hash "$1")"
}

# is_marked NAME HASH: whether it passed with these inputs, which is said in a line. Never in CI, nor with --again.
is_marked() {
  local mark
  [[ ${CI:-} != true && $AGAIN == no && -n $2 ]] || return 1
  mark=$(mark_of "$1" "$2")
  [[ -e $mark ]] || return 1
  say "-- $1: unchanged since it passed here on $(date -r "$mark" '+%Y-%m-%d %H:%M'), inputs $2: not run (--again runs it)"
}

# mark_of NAME HASH: a file. Names may contain blanks.
mark_of() { printf '%s/passed/%s/%s' "$CACHE" "${1//[ \/]/-}" "$2"; }

# remember_passing NAME HASH: with the hash from before it ran, as files may have been edited meanwhile.
remember_passing() {
  local mark
  [[ -n $2 ]] || return 0
  mark=$(mark_of "$1" "$2")
  rm -rf "${mark%/*}"
  mkdir -p "${mark%/*}"
  : >"$mark"
}
