# shellcheck shell=bash
# Slices of the longest stages that are left out while their inputs are what they were when they last passed on this machine: the
# end-to-end tests of one operator, and the test binaries of one package. What is left out is said in a line, with the hash; in CI and
# with --again nothing is. A stage that ran without a slice has passed without it only: marks are per slice.
#
# The inputs of a slice are all files but those of operators that it has nothing to do with. Runtime, agent, manager, API, the tests'
# own code and the scripts are inputs of all, so that what operators share is always tested with each.

# Files that no test reads.
NO_INPUTS=(':(exclude)docs' ':(exclude)*.md' ':(exclude)benches')

# The operators that no other crate but manager, xtask and tests depends on.
OPERATORS=(my-app sample sample-db etcd-cluster)

# Modules of tests/tests/in_cluster, alone/ included, by the operator whose objects they are about, as patterns. Every other module
# runs always.
declare -A E2E_SLICES=([etcd-cluster]='etcd_*' [sample-db]='sample_db_* random_databases')

# operators_but OPERATOR...: as paths that git is to leave out.
operators_but() {
  local operator
  for operator in "${OPERATORS[@]}"; do
    is_one_of "$operator" "$@" || printf ':(exclude)operators/%s\n' "$operator"
  done
}

# slice_hash OPERATOR...: of the inputs of a slice that is about these.
slice_hash() {
  local excluded
  mapfile -t excluded < <(operators_but "$@")
  { tree_hash . "${NO_INPUTS[@]}" "${excluded[@]}"; rustc --version; go version 2>/dev/null; uname -m; } | sha256sum | cut -c1-12
}

# package_operators DIRECTORY: the operators that a package depends on, itself included, as cargo knows it; all if cargo does not say.
package_operators() {
  local operator tree
  tree=$(cd "$1" && cargo tree --prefix none --edges normal,build,dev --format '{p}') || { printf '%s\n' "${OPERATORS[@]}"; return; }
  for operator in "${OPERATORS[@]}"; do
    ! grep -q "/operators/$operator)" <<<"$tree" || printf '%s\n' "$operator"
  done
}

# e2e_modules OPERATOR: the modules of a slice, one a line.
e2e_modules() {
  local pattern file
  for pattern in ${E2E_SLICES[$1]}; do
    for file in tests/tests/in_cluster/{,alone/}$pattern.rs; do
      [[ ! -e $file ]] || basename "$file" .rs
    done
  done
}

# What a stage has not left out, and is to remember once it has passed: HASH NAME each.
SLICES_RUN=()

# slice_is_unchanged NAME HASH: says so in a line.
slice_is_unchanged() {
  is_marked "$1" "$2" && return
  SLICES_RUN+=("$2 $1")
  return 1
}

# remember_slices: all that ran since the last call.
remember_slices() {
  local slice
  for slice in "${SLICES_RUN[@]}"; do remember_passing "${slice#* }" "${slice%% *}"; done
  SLICES_RUN=()
}

# choose_e2e_slices: the options of in_cluster that leave out what is unchanged, as SKIPPED, and how many slices that is, as LEFT_OUT;
# a filter is served as it is.
choose_e2e_slices() {
  local operator module
  SKIPPED=() LEFT_OUT=0
  ((${#FILTERS[@]} == 0)) && [[ -n $OURS ]] || return 0
  for operator in "${!E2E_SLICES[@]}"; do
    slice_is_unchanged "e2e of $operator" "$(slice_hash "$operator")${VERSION_OPTION[1]:-}-$MANAGER_PROFILE" || continue
    ((LEFT_OUT += 1))
    while read -r module; do SKIPPED+=(--skip "$module::"); done < <(e2e_modules "$operator")
  done
}

# choose_packages FILE: takes the test binaries of packages that are unchanged out of what unit_binaries has listed there.
choose_packages() {
  local folder operators
  while read -r folder; do
    mapfile -t operators < <(package_operators "$folder")
    if slice_is_unchanged "unit of ${folder##*/}" "$(slice_hash "${operators[@]}")"; then
      awk -v f="$folder" '$1 != f' "$1" >"$1.left"
      mv "$1.left" "$1"
    fi
  done < <(cut -d' ' -f1 "$1" | sort -u)
}
