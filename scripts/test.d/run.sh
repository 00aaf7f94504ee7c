# shellcheck shell=bash
# A run of stages: what it hands them, and what is left of it at the end.

FAILED=no

# new_run PROGRAM:PACKAGE...: a directory for this run alone: logs, timings, and what stages hand to one another. What the machine lacks of
# these programs is installed first: without certificates of authorities, Go downloads no module to build anything from.
new_run() {
  RUN_BEGIN=$(now_ms)
  BACKGROUND=()
  mkdir -p "$CACHE" || die "the cache $CACHE cannot be created: set MULTI_OPERATOR_CACHE to another directory"
  require_programs "$@"
  RUN_FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/multi-operator-test.XXXXXX") || die "no directory for this run can be created in ${TMPDIR:-/tmp}"
  # One number seeds all randomness: to repeat a failure, pass it again.
  export MULTI_OPERATOR_SEED=${MULTI_OPERATOR_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
  say "seed $MULTI_OPERATOR_SEED (--seed $MULTI_OPERATOR_SEED makes randomized tests do the same again)"
  # Without it there are no results.
  (ensure_tools ours timings) || exit 1
  # A copy of its present state: later edits change the next run only.
  TIMINGS_PROGRAM=$(tool ours timings)
  # Tests that measure times hold it, on the complete machine: runs with another cache share its processors.
  MULTI_OPERATOR_TIMING_LOCK=$(locks)/timing.lock
  export MULTI_OPERATOR_TIMING_LOCK
  # kubectl and the tools that stages run for a second collect garbage several times in it, with memory to spare.
  export GOGC=${GOGC:-400}
}

# Programs and tests are built once, as a development build; stages start programs of that build.
prepare_rust() {
  local profile=dev
  rust_environment
  # Files of the incremental compiler are of use to who edits, and twice the work for who builds once.
  [[ ${CI:-} != true ]] || export CARGO_INCREMENTAL=0
  MULTI_OPERATOR_XTASK=$(rust_output dev)/xtask || die "cargo does not say where it builds"
  [[ ${RELEASE:-no} == no ]] || profile=release
  MANAGER_BINARY=$(rust_output "$profile")/manager
  MULTI_OPERATOR_MANAGER=$MANAGER_BINARY MANAGER_PROFILE=$profile
  export MULTI_OPERATOR_XTASK MANAGER_BINARY MULTI_OPERATOR_MANAGER MANAGER_PROFILE
}

# locks: the directory of the locks that all runs on this machine share, whatever their caches: where clusters have theirs. Who is
# not root starts no clusters.
locks() {
  local folder=/run/multi-operator
  [[ $(id -u) == 0 ]] && mkdir -p "$folder" || folder=$CACHE
  printf '%s' "$folder"
}

# Clusters have fixed names, so one run at a time has them; a second one says so instead of tearing them down. What the run
# starts does not inherit the lock, on descriptor 5: it may outlive the run. If a cluster is given, the check of the
# manifests has one of its own.
alone_on_this_machine() {
  local lock own=(manifests "${CLUSTER_STAGES[@]}")
  [[ -z ${GIVEN_KUBECONFIG:-} ]] || own=(manifests)
  wants "${own[@]}" || return 0
  lock=$(locks)/test.lock
  exec 5>>"$lock"
  flock --nonblock 5 ||
    die "another scripts/test is at work on this machine's clusters (process $(cat "$lock")): wait for it, or run scripts/check meanwhile"
  printf '%s' "$$" >"$lock"
}

finish() {
  local status=$? name
  trap - EXIT
  end_all
  no_more_gaps
  if [[ -s $RUN_FOLDER/stages.jsonl ]]; then
    TIMINGS=${TIMINGS:-$CACHE/timings/$(date +%Y%m%d-%H%M%S)-$(git rev-parse --short HEAD 2>/dev/null).json}
    mkdir -p "$(dirname "$TIMINGS")"
    "$TIMINGS_PROGRAM" report --stages "$RUN_FOLDER/stages.jsonl" --tests "$RUN_FOLDER/tests.jsonl" \
      --commit "$(commit_of_tree)" --output "$TIMINGS" >&2 && say "timings: $TIMINGS"
  fi
  [[ $FAILED == no ]] || for name in "${STAGES[@]}"; do
    has_passed "$name" || say "${STAGE_RESULT[$name]}: $name"
  done
  sums
  [[ $FAILED == no ]] || keep_logs
  rm -rf "$RUN_FOLDER"
  if [[ $FAILED == yes ]] || ((status)); then
    say "FAILED (seed $MULTI_OPERATOR_SEED)"
    exit $((status ? status : 1))
  fi
  say "all passed"
}

# The output of all stages of a failed run stays until the next one that fails.
keep_logs() {
  local kept=$CACHE/log/failed
  compgen -G "$RUN_FOLDER/*.log" >/dev/null || return 0
  rm -rf "$kept" && mkdir -p "$kept" && cp "$RUN_FOLDER"/*.log "$kept" && say "logs of all stages: $kept"
}

# In the plain form that CI systems read. A filter that no test fits has tested nothing.
sums() {
  local passed failed
  [[ -s $RUN_FOLDER/tests.jsonl ]] || { [[ ${#FILTERS[@]} == 0 ]] || { say "no test's name contains '${FILTERS[0]}'"; FAILED=yes; }; return 0; }
  passed=$(grep -c '"result":"ok"' "$RUN_FOLDER/tests.jsonl")
  failed=$(grep -c '"result":"failed"' "$RUN_FOLDER/tests.jsonl")
  printf '%s passed, %s failed\n' "$passed" "$failed"
}

commit_of_tree() {
  git rev-parse HEAD 2>/dev/null | tr -d '\n'
  [[ -z $(git status --porcelain 2>/dev/null) ]] || printf ' with changes'
}
