# shellcheck shell=bash
# What every suite on a cluster shares: its cluster, the manager in it, and how its test binary is run.

STARTED=()

# suite_cluster NAME OPTION...: the cluster of KUBECONFIG if that is set, else a new local one.
suite_cluster() {
  if [[ -n $GIVEN_KUBECONFIG ]]; then
    use_cluster "$1"
  else
    own_cluster "$@" && use_cluster "$1"
  fi
}

# own_cluster NAME OPTION...: a new cluster, which is taken down when the stage ends, unless --keep says otherwise.
own_cluster() {
  local name=$1
  shift
  trap take_down EXIT
  trap 'exit 130' INT TERM
  STARTED+=("$name")
  # What an interrupted run has left there is no new cluster.
  scripts/cluster down --name "$name" >/dev/null && scripts/cluster up --name "$name" "${VERSION_OPTION[@]}" "$@"
}

take_down() {
  local name
  [[ $KEEP == no ]] || return 0
  for name in "${STARTED[@]}"; do scripts/cluster down --name "$name"; done
}

# operand_images IMAGE...: into the cluster, if it is a local one, by the names of scripts/images.
operand_images() {
  if [[ -n $OURS ]]; then
    scripts/images --load "$OURS" nginx "$@" >/dev/null
  else
    say "its nodes must have the images $* (scripts/images --help says what each is; it makes tars), and the class \`sized\`," \
      "whose volumes get full"
  fi
}

# deploy_built: the manager of this run's build, and the writer of tests.
deploy_built() {
  await_stage build || return
  [[ -z $OURS ]] || scripts/images --load "$OURS" etcd-writer >/dev/null || return
  deploy_manager
}

# suite NAME OPTION...: one test binary of tests/, with the filter of the command line.
suite() {
  local name=$1 binary status=0
  shift
  # shellcheck disable=SC2086
  [[ -z ${PART:-} ]] || is_one_of "$name" ${PART_SUITES[$PART]:-} ||
    { say "the part $PART runs the suite $name: PART_SUITES must name it, or a change of it leaves the part's record good"; return 1; }
  binary=$(awk -v n="$name" -v f="$PWD/tests" '$1 == f && $2 == n { print $3 }' "$RUN_FOLDER/binaries")
  [[ -n $binary ]] || { say "cargo has built no test binary '$name'"; return 1; }
  run_tests "$name" "$PWD/tests" "$binary" --show-output "$@" "${FILTERS[@]}" | record "$name" || status=1
  [[ $status == 0 || $name == olm || $name == gitops ]] || manager_log
  return "$status"
}
