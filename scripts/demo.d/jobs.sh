# shellcheck shell=bash
# Jobs that run side by side, each as soon as those it needs are done. A job's output goes to a log.

JOBS=() BEGIN=$(now_ms) JOB_LOGS=$CACHE/log/demo
declare -A JOB_TEXT JOB_NEEDS JOB_COMMAND JOB_STATE JOB_PID JOB_START
# Of what takes longer, a line says when it is done.
SECONDS_WORTH_A_LINE=2
SECONDS_BETWEEN_REPORTS=15
SECONDS_TO_STOP=20

step() { say "[$(since "$BEGIN")] $*"; }

# job NAME TEXT NEEDS COMMAND: the text is a noun, the needs are names of jobs, the command is one of bash's.
job() {
  JOBS+=("$1")
  JOB_TEXT[$1]=$2 JOB_NEEDS[$1]=$3 JOB_COMMAND[$1]=$4 JOB_STATE[$1]=waiting
}

job_log() { printf '%s/%s.log' "$JOB_LOGS" "$1"; }

in_state() {
  local name
  for name in "${JOBS[@]}"; do [[ ${JOB_STATE[$name]} != "$1" ]] || printf '%s\n' "$name"; done
}

is_ready() {
  local need
  for need in ${JOB_NEEDS[$1]}; do [[ ${JOB_STATE[$need]} == "done" ]] || return 1; done
}

# In a process group of its own, so that all of it can be stopped, and Ctrl-C reaches this script only.
start_job() {
  JOB_STATE[$1]=running
  JOB_START[$1]=$(now_ms)
  set -m
  (
    trap - INT TERM
    trap 'times >"$(job_log "$1").times"' EXIT
    eval "${JOB_COMMAND[$1]}"
  ) </dev/null >"$(job_log "$1")" 2>&1 &
  JOB_PID[$1]=$!
  set +m
}

# check_job NAME: notes that it has ended.
check_job() {
  ! kill -0 "${JOB_PID[$1]}" 2>/dev/null || return 0
  wait "${JOB_PID[$1]}" || fail_job "$1"
  JOB_STATE[$1]="done"
  (($(now_ms) - JOB_START[$1] < SECONDS_WORTH_A_LINE * 1000)) || step "done: ${JOB_TEXT[$1]} ($(since "${JOB_START[$1]}"))"
  # An image may hold another version than its tag says, and users must not overlook that.
  [[ $1 == load-* ]] || grep -h ' holds ' "$(job_log "$1")" >&2 || true
}

fail_job() {
  local log reason
  log=$(job_log "$1")
  JOB_STATE[$1]=failed
  stop_jobs
  reason=$(reason_in "$log")
  die "${JOB_TEXT[$1]}: $reason; once that is solved, run scripts/demo again: it continues from here (log: $log)"
}

group_has_gone() { ! kill -0 -- "-$1" 2>/dev/null; }

# Some clear up behind themselves.
stop_jobs() {
  local name
  for name in $(in_state running); do kill -TERM -- "-${JOB_PID[$name]}" 2>/dev/null || true; done
  for name in $(in_state running); do
    wait "${JOB_PID[$name]}" 2>/dev/null || true
    poll "$SECONDS_TO_STOP" "${JOB_TEXT[$name]} to stop" group_has_gone "${JOB_PID[$name]}" || kill -KILL -- "-${JOB_PID[$name]}" || true
  done
}

# "Kubernetes (61 s), the manager (40 s)"
texts() {
  local name text=''
  for name in "$@"; do
    text+="${text:+, }${JOB_TEXT[$name]}"
    [[ -z ${JOB_START[$name]:-} ]] || text+=" ($((($(now_ms) - JOB_START[$name]) / 1000)) s)"
  done
  printf '%s' "$text"
}

report() {
  local running waiting
  mapfile -t running < <(in_state running)
  # What only puts an image into the cluster takes a moment.
  mapfile -t waiting < <(in_state waiting | grep -v '^load-')
  step "running: $(texts "${running[@]}")$( ((${#waiting[@]} == 0)) || printf '; waiting: %s' "$(texts "${waiting[@]}")")"
}

# Until all are done, or one fails.
run_jobs() {
  local name reported
  mkdir -p "$JOB_LOGS"
  reported=$(now_ms)
  while :; do
    for name in $(in_state waiting); do
      if is_ready "$name"; then start_job "$name"; fi
    done
    [[ -n $(in_state running) ]] || return 0
    sleep 0.2
    for name in $(in_state running); do check_job "$name"; done
    if (($(now_ms) - reported > SECONDS_BETWEEN_REPORTS * 1000)); then
      [[ -z $(in_state running) ]] || report
      reported=$(now_ms)
    fi
  done
}
