# shellcheck shell=bash
# Planted bugs: each patch in operators/simulation/mutants is one, and some schedule of the simulation has to fail because of it.
#
# Cargo knows sources by their path and time. So all patches are applied in turn to one worktree, which is in the same place in each
# run, and only what a patch changes is built again.

MUTANTS=operators/simulation/mutants
MUTANT_ROOT=$CACHE/mutants
MUTANT_TREE=$MUTANT_ROOT/tree
# How long all schedules of one mutant may take, and one of them, in seconds. Bugs may let a run hang.
MUTANT_LIMIT=1800 REPLAY_LIMIT=300
MUTANT_RUN=''

mutants_usage() {
  cat <<USAGE
usage: scripts/simulate --mutants [NAME...] [--seeds N] [--from SEED]

Applies each planted bug of $MUTANTS (or those of these names) to the last commit, and runs all scenarios with it. Prints a
line for each: 'caught', with the scenario, the seed and the first violation, or 'MISSED'. Fails if one is missed whose header does not
say '# expected: missed, because ...'.

  --seeds N    how many seeds each scenario runs with (default: 200)
  --from SEED  the first seed (default: a random one)
USAGE
}

# mutants ARGUMENT...
mutants() {
  local seeds=200 from=() names=() failed=0 name
  while (($#)); do
    case $1 in --seeds=* | --from=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;; esac
    case $1 in
      --seeds | --from) [[ ${2:-} =~ ^[0-9]+$ ]] || die "$1 needs a number (scripts/simulate --mutants --help)" ;;
    esac
    case $1 in
      --seeds) seeds=$2; shift ;;
      --from) from=(--from "$2"); shift ;;
      -h | --help) mutants_usage; return ;;
      -*) die "unknown option '$1' (scripts/simulate --mutants --help)" ;;
      *) names+=("$(basename "$1" .patch)") ;;
    esac
    shift
  done
  ((${#names[@]})) || mapfile -t names < <(basename -a -s .patch "$MUTANTS"/*.patch)
  for name in "${names[@]}"; do
    [[ -f $MUTANTS/$name.patch ]] || die "there is no $MUTANTS/$name.patch"
  done
  make_mutant_tree
  build_mutant "$MUTANT_ROOT/unchanged.log" || die "the program does not build: $(reason_in "$MUTANT_ROOT/unchanged.log")"
  cp -- "$(mutant_program)" "$MUTANT_ROOT/unchanged"
  for name in "${names[@]}"; do
    try_mutant "$name" "$seeds" "${from[@]}" || failed=$((failed + 1))
  done
  say "$((${#names[@]} - failed)) of ${#names[@]} mutants were caught, or are expected to be missed"
  ((failed == 0))
}

# In a container, the clone may be another user's.
mutant_git() { git -c safe.directory='*' "$@"; }

make_mutant_tree() {
  local changed
  require_programs git:git flock:util-linux
  changed=$(mutant_git status --porcelain) || die "this is no clone of a repository, and mutants are built from its last commit"
  [[ -z $changed ]] || die "there are changes that are not committed, and mutants are built from the last commit: commit them first"
  mkdir -p "$MUTANT_ROOT"
  exec 9>"$MUTANT_ROOT/lock"
  flock --nonblock 9 || die "another scripts/simulate --mutants is at work"
  trap remove_mutant_tree EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  # A run that was killed leaves it.
  remove_mutant_tree
  mutant_git worktree add --force --quiet --detach "$MUTANT_TREE" HEAD || die "git cannot make a worktree in $MUTANT_TREE"
}

remove_mutant_tree() {
  stop_mutant_run
  mutant_git worktree remove --force "$MUTANT_TREE" 2>/dev/null || rm -rf -- "$MUTANT_TREE"
}

stop_mutant_run() {
  [[ -n $MUTANT_RUN ]] || return 0
  kill "$MUTANT_RUN" 2>/dev/null || true
  wait "$MUTANT_RUN" 2>/dev/null || true
  MUTANT_RUN=''
}

mutant_program() { printf '%s' "$MUTANT_ROOT/target/$RUST_TARGET/simulation/simulate"; }

# build_mutant LOG: builds what is in the worktree now.
build_mutant() {
  (
    cd "$MUTANT_TREE" || exit
    export CARGO_TARGET_DIR=$MUTANT_ROOT/target
    exec cargo build --quiet "${LOCKED[@]}" --profile simulation --package simulation --bin simulate 9>&-
  ) >"$1" 2>&1
}

# try_mutant NAME SEEDS OPTION...: prints what became of it. Fails if it was not caught, unless that is expected.
try_mutant() {
  local name=$1 start patch=$PWD/$MUTANTS/$1.patch log=$MUTANT_ROOT/$1.log
  start=$(now_ms)
  say "$name: building"
  mutant_git -C "$MUTANT_TREE" clean --quiet -fd || die "git cannot remove an earlier bug's files in $MUTANT_TREE"
  mutant_git -C "$MUTANT_TREE" checkout --quiet -- . || die "git cannot restore the sources in $MUTANT_TREE"
  if ! mutant_git -C "$MUTANT_TREE" apply "$patch" 2>"$log"; then
    printf 'BROKEN  %s  it does not apply: %s\n' "$name" "$(reason_in "$log")"
    return 1
  fi
  if ! build_mutant "$log"; then
    printf 'BROKEN  %s  it does not build: %s (log: %s)\n' "$name" "$(reason_in "$log")" "$log"
    return 1
  fi
  say "$name: built in $(since "$start"); running $2 seeds of each scenario"
  run_mutant "$log" "${@:2}" && judge_mutant "$name" "$log" "$patch"
}

# run_mutant LOG SEEDS OPTION...: runs all scenarios until one fails. Sets CODE. No one needs the shortest schedule.
run_mutant() {
  local log=$1
  timeout --kill-after=10 "$MUTANT_LIMIT" "$(mutant_program)" --seeds "${@:2}" >"$log" 2>"$log.errors" 9>&- &
  MUTANT_RUN=$! CODE=0
  while kill -0 "$MUTANT_RUN" 2>/dev/null && [[ -z $(failing "$log") ]]; do sleep 0.2; done
  if [[ -n $(failing "$log") ]]; then
    stop_mutant_run
  else
    wait "$MUTANT_RUN" || CODE=$?
    MUTANT_RUN=''
  fi
}

# failing LOG: the scenario and the seed of the first schedule that failed, if one did.
failing() { sed -n 's/^\([a-z0-9-]*\) fails with seed \([0-9]*\).*/\1 \2/p' "$1" | head -n 1; }

# judge_mutant NAME LOG PATCH
judge_mutant() {
  local name=$1 log=$2 scenario seed expected why
  expected=$(sed -e '/^diff /,$d' "$3" | sed -n 's/^# expected: missed, *//p' | head -n 1)
  read -r scenario seed < <(failing "$log") || true
  if [[ -n $scenario ]]; then
    # Otherwise, it is not the mutant that is caught.
    if ! replay "$MUTANT_ROOT/unchanged" "$scenario" "$seed" >"$log.unchanged"; then
      printf 'UNCLEAR %s  %s, seed %s: fails without it, too: %s\n' "$name" "$scenario" "$seed" "$(violation "$log.unchanged")"
      return 1
    fi
    replay "$(mutant_program)" "$scenario" "$seed" >"$log" || true
    why="$scenario, seed $seed, $(violation "$log")"
  elif ((CODE == 0)); then
    if [[ -n $expected ]]; then
      printf 'missed  %s  as expected, %s\n' "$name" "$expected"
      return 0
    fi
    printf 'MISSED  %s\n' "$name"
    return 1
  elif ((CODE == 124 || CODE == 137)); then
    why="the schedules do not end within $MUTANT_LIMIT s"
  elif ((CODE == 2)); then
    die "the simulation rejects its options: $(reason_in "$log.errors")"
  else
    why="the simulation ends with code $CODE: $(tail -n 1 "$log.errors")"
  fi
  printf 'caught  %s  %s%s\n' "$name" "$why" "${expected:+ (although its header expects that it is missed)}"
}

# replay PROGRAM SCENARIO SEED: prints the story.
replay() { timeout --foreground --kill-after=10 "$REPLAY_LIMIT" "$1" --scenario "$2" --replay "$3" 2>/dev/null 9>&-; }

# violation LOG: the first one in a story.
violation() {
  local line
  line=$(sed -n -e 's/^violated: //p' -e '/^the world cannot run/p' "$1" | head -n 1)
  printf '%s' "${line:-the story does not end within $REPLAY_LIMIT s}"
}
