# shellcheck shell=bash
# Stages: steps of scripts/check and scripts/test, each a function that runs in a subshell of its own as soon as the stages that
# it needs have passed. The output of a stage goes to a log and is shown when it ends; one that runs alone prints directly.
#
# Stages that keep a processor busy would only slow each other down: at most JOBS of those that fill gaps, and as many of the
# others, run at a time, the first declared first.

# For the names of needs.
shopt -s extglob

declare -A STAGE_NEEDS=() STAGE_AWAITS=() STAGE_AFTER=() STAGE_PID=() STAGE_BEGIN=() STAGE_RESULT=() STAGE_HASH=()
# Stages that run at low priority (priority.sh). health is none of them: Argo CD gives each Lua script one second by the clock.
declare -A STAGE_FILLS_GAPS=([unit]=yes [clippy]=yes [docs]=yes [go-checks]=yes [shell]=yes [workflows]=yes [rules]=yes)
STAGES=()
is_one_of() { [[ " ${*:2} " == *" $1 "* ]]; }
JOBS=${MULTI_OPERATOR_JOBS:-3}
# Concurrent suites lengthen each other's waits: how much of the room for suites each takes, by what it keeps running, and how
# much there is; a suite says itself when it begins to take less (takes_room). Other stages take none. On two processors the databases
# of e2e and Argo CD's three clusters would make all of it seven times as slow, and PostgreSQL would answer no probe in time.
declare -A STAGE_ROOM=([e2e]=4 [gitops]=2 [olm]=1 [olm-2]=1)
SUITE_ROOM=$(($(nproc) >= 4 ? 8 : 4))
# How often the running stages are listed, and how often the results of background builds are checked, in seconds.
HEARTBEAT=60
TICK=2

# stage NAME [NEED...]: declares the function NAME (hyphens as underscores). A need written as +NEED is no reason to start later:
# the function waits for it itself, by await_stage. after:NAME only sets the order: it may fail. made:NAME is built in the
# background (builds.sh): a stage that waits for it takes no room from others. Needs that are not part of this run are dropped.
stage() {
  local name=$1 need needs='' awaited='' after=''
  shift
  for need in "$@"; do
    [[ $need == made:* || -n ${STAGE_RESULT[${need#@(+|after:)}]:-} ]] || continue
    case $need in
      +*) awaited+=" ${need#+}" ;;
      after:*) after+=" ${need#after:}" ;;
      *) needs+=" $need" ;;
    esac
  done
  STAGES+=("$name")
  STAGE_NEEDS[$name]=${needs# } STAGE_AWAITS[$name]=${awaited# } STAGE_AFTER[$name]=${after# }
  STAGE_RESULT[$name]=pending
}

# await_stage NAME: until it has ended; fails if it has not passed. One that is not part of this run is not waited for.
await_stage() {
  [[ -n ${STAGE_RESULT[$1]:-} ]] || return 0
  until grep -qs "^{\"name\":\"$1\"," "$RUN_FOLDER/stages.jsonl"; do sleep 0.2; done
  grep -qs "^{\"name\":\"$1\",.*\"result\":\"\(ok\|unchanged\)\"" "$RUN_FOLDER/stages.jsonl" || { say "$1 has not passed"; return 1; }
}

# background COMMAND...: runs while the stages do, until it ends or they have ended; its process group is its own.
background() {
  set -m
  "$@" </dev/null >>"$RUN_FOLDER/background.log" 2>&1 5>&- &
  set +m
  BACKGROUND+=("$!")
}

# run_stages: returns 1 if one has failed.
run_stages() {
  local name ended status clock='' heard=$SECONDS
  while start_ready && { ((${#STAGE_PID[@]})) || some_pending; }; do
    if [[ -z $clock ]]; then
      sleep "$TICK" 5>&- &
      clock=$!
    fi
    end_lost
    status=0 ended=''
    wait -n -p ended "${STAGE_PID[@]}" "$clock" 2>/dev/null || status=$?
    if [[ $ended == "$clock" ]]; then
      clock=''
      ((SECONDS - heard < HEARTBEAT)) || { heartbeat; heard=$SECONDS; }
      continue
    fi
    for name in "${!STAGE_PID[@]}"; do
      [[ ${STAGE_PID[$name]} != "$ended" ]] || end_stage "$name" "$status"
    done
  done
  [[ -z $clock ]] || kill "$clock" 2>/dev/null
  local failed=0
  for name in "${STAGES[@]}"; do has_passed "$name" || failed=1; done
  return "$failed"
}

# end_lost: ends stages that `wait -n` does not know any more. Bash forgets the job of a process that a signal killed while it was
# not waiting, and only `wait PID` still returns its status: without this, a run would wait for that stage for ever.
end_lost() {
  local name status
  for name in "${!STAGE_PID[@]}"; do
    ! kill -0 "${STAGE_PID[$name]}" 2>/dev/null || continue
    status=0
    wait "${STAGE_PID[$name]}" 2>/dev/null || status=$?
    end_stage "$name" "$status"
  done
}

some_pending() {
  local name
  for name in "${STAGES[@]}"; do [[ ${STAGE_RESULT[$name]} != pending ]] || return 0; done
  return 1
}

# Starts every stage whose needs are met, as far as there is room; one whose need has failed cannot run.
start_ready() {
  local name need ready
  for name in "${STAGES[@]}"; do
    [[ ${STAGE_RESULT[$name]} == pending ]] || continue
    ready=yes
    for need in ${STAGE_NEEDS[$name]}; do
      look_up "$need"
      case $RESULT in
        ok | unchanged) ;;
        FAILED | 'NOT RUN') ready=no; skip_stage "$name" "$need"; break ;;
        *) ready=no ;;
      esac
    done
    for need in ${STAGE_AFTER[$name]}; do
      case ${STAGE_RESULT[$need]} in pending | running) ready=no ;; esac
    done
    [[ $ready == no ]] || ! has_room "$name" || start_stage "$name"
  done
  return 0
}

# has_room NAME: a suite does not wait for checks that fill its gaps, which would take the longer for it.
has_room() {
  local other same=0 taken=${STAGE_ROOM[$1]:-0}
  for other in "${!STAGE_PID[@]}"; do
    [[ ${STAGE_FILLS_GAPS[$other]:-} != "${STAGE_FILLS_GAPS[$1]:-}" ]] || ((same += 1))
    room_of "$other"
    ((taken += RESULT)) || true
  done
  ((same < JOBS)) && ((taken <= SUITE_ROOM || ${STAGE_ROOM[$1]:-0} == 0))
}

# takes_room NAME COUNT: that stage, which calls this, takes so much from now on.
takes_room() { printf '%s' "$2" >"$RUN_FOLDER/$1.room"; }

# room_of NAME: how much it takes now, as RESULT.
room_of() {
  RESULT=${STAGE_ROOM[$1]:-0}
  [[ ! -s $RUN_FOLDER/$1.room ]] || RESULT=$(<"$RUN_FOLDER/$1.room")
}

# look_up NEED: its result, as RESULT. What is not built when the builder exits has failed.
look_up() {
  local made=$RUN_FOLDER/made/${1#made:}
  RESULT=${STAGE_RESULT[$1]:-}
  [[ $1 == made:* ]] || return 0
  # In this order: a builder that exits has recorded all that it built.
  kill -0 "${BACKGROUND[0]:-0}" 2>/dev/null || RESULT=FAILED
  [[ ! -s $made ]] || RESULT=$(<"$made")
}

has_passed() { [[ ${STAGE_RESULT[$1]} == ok || ${STAGE_RESULT[$1]} == unchanged ]]; }

start_stage() {
  local name=$1
  STAGE_BEGIN[$name]=$(now_ms)
  if is_unchanged "$name"; then
    STAGE_RESULT[$name]=unchanged
    record_stage "$name"
    return
  fi
  STAGE_RESULT[$name]=running STAGE_HASH[$name]=$(inputs_hash "$name")
  say "== $name"
  # In a process group of its own, so that it can be ended with all that it has started.
  set -m
  if ((${#STAGES[@]} == 1)); then
    run_stage "$name" </dev/null 5>&- &
  else
    run_stage "$name" </dev/null >"$RUN_FOLDER/$name.log" 2>&1 5>&- &
  fi
  STAGE_PID[$name]=$!
  set +m
}

# The suites, and what they wait for, are the long way to the end: what only computes takes what they leave.
run_stage() {
  # A stage that is ended clears up behind itself, and is waited for.
  trap 'exit 143' INT TERM
  [[ ${STAGE_FILLS_GAPS[$1]:-} != yes ]] || fill_gaps
  measured "$1" "${1//-/_}"
}

# measured NAME COMMAND...: notes the processor seconds of this shell and of what it has waited for, the command included, so
# call it once in each subshell. Servers that the command leaves running are not counted.
measured() {
  local name=$1 status=0
  shift
  ("$@") || status=$?
  times >"$RUN_FOLDER/$name.times"
  return "$status"
}

# cpu_of NAME: these seconds; what `times` prints is the shell's user and system time, then its children's, as 1m2.345s.
cpu_of() {
  [[ -s $RUN_FOLDER/$1.times ]] || { printf 0; return; }
  tr -s 'ms \n' ' ' <"$RUN_FOLDER/$1.times" | awk '{ for (i = 1; i < NF; i += 2) sum += 60 * $i + $(i + 1) } END { printf "%.1f", sum }'
}

skip_stage() {
  STAGE_RESULT[$1]='NOT RUN' STAGE_BEGIN[$1]=$(now_ms)
  if [[ $2 == made:* ]]; then
    say "-- $1 cannot run: building ${2#made:} failed: $(reason_in "$RUN_FOLDER/background.log"); of what the builds said:"
    tail -n 30 "$RUN_FOLDER/background.log" >&2
  else
    say "-- $1 cannot run: $2 has not passed"
  fi
  record_stage "$1"
}

# end_stage NAME STATUS
end_stage() {
  local name=$1 result=ok
  (($2 == 0)) || result=FAILED
  unset "STAGE_PID[$name]"
  STAGE_RESULT[$name]=$result
  if ((${#STAGES[@]} > 1)); then
    say "-- $name: what it said"
    cat "$RUN_FOLDER/$name.log" >&2
  fi
  say "-- $name: $result, $(since "${STAGE_BEGIN[$name]}")"
  [[ $result == FAILED ]] || remember_passing "$name" "${STAGE_HASH[$name]}"
  record_stage "$name"
}

# record_stage NAME: a line of JSON. Names hold no character that would need escaping.
record_stage() {
  local needs=''
  # shellcheck disable=SC2086
  [[ -z ${STAGE_NEEDS[$1]}${STAGE_AWAITS[$1]}${STAGE_AFTER[$1]} ]] ||
    needs=$(printf '"%s",' ${STAGE_NEEDS[$1]} ${STAGE_AWAITS[$1]} ${STAGE_AFTER[$1]})
  write_record "$1" "${needs%,}" "${STAGE_RESULT[$1]}" "${STAGE_BEGIN[$1]}"
}

# write_record NAME NEEDS RESULT BEGIN
write_record() {
  printf '{"name":"%s","needs":[%s],"result":"%s","begin":%s,"end":%s,"cpu":%s}\n' "$1" "${2//made:/build-}" "$3" \
    "$(run_seconds "$4")" "$(run_seconds "$(now_ms)")" "$(cpu_of "$1")" >>"$RUN_FOLDER/stages.jsonl"
}

run_seconds() { printf '%d.%03d' $((($1 - RUN_BEGIN) / 1000)) $((($1 - RUN_BEGIN) % 1000)); }

heartbeat() {
  local name line=''
  for name in "${STAGES[@]}"; do
    [[ -z ${STAGE_PID[$name]:-} ]] || line+=", $name for $((($(now_ms) - STAGE_BEGIN[$name]) / 1000)) s"
  done
  [[ -n $line ]] || line=', no stage can run yet'
  say ".. after $SECONDS s: ${line#, }$(tail -qn 1 "$RUN_FOLDER/background.log" 2>/dev/null | sed 's/^/; behind them: /')"
  oldest_tests
}

# Tests that have run for so many seconds are named by the heartbeat: if a run is cut off, its output says what hung.
LONG_TEST=300

oldest_tests() {
  local file since name now
  now=$(date +%s)
  for file in "$RUN_FOLDER"/*.running; do
    read -r since name 2>/dev/null <"$file" || continue
    ((now - since < LONG_TEST)) || say "   ${file##*/}: $name has run for $((now - since)) s"
  done
}

# end_all: ends what still runs, with all that it has started.
end_all() {
  local pid
  for pid in "${STAGE_PID[@]}" "${BACKGROUND[@]}"; do kill -TERM -- "-$pid" 2>/dev/null; done
  for pid in "${STAGE_PID[@]}" "${BACKGROUND[@]}"; do wait "$pid" 2>/dev/null; done
}
