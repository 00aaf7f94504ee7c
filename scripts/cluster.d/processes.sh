# shellcheck shell=bash
# Starting, finding and stopping the cluster's processes.

# A process is known by its id and its start time: ids are used again after a restart of the machine.
start_time_of() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # Fields after the name, which may itself hold blanks and parentheses: state is the 1st, start time the 20th.
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  # A zombie has ended: only its parent has not collected its status yet.
  [[ $1 != Z ]] || return 1
  printf '%s' "${20}"
}

is_running() {
  local pid started
  read -r pid started 2>/dev/null <"$STATE/pids/$1" || return 1
  [[ $(start_time_of "$pid") == "$started" ]]
}

pid_of() {
  local pid
  is_running "$1" && read -r pid _ <"$STATE/pids/$1" && printf '%s' "$pid"
}

# start NAME COMMAND...: in the network namespace, on its own session, unless it is running already. Programs get a small,
# fixed environment: a proxy or CI variable of the caller must not change how a cluster behaves. Go's garbage collector takes a
# fifth of the API server's processor time with the default of 100, and less memory than there is; benchmarks keep that default.
start() {
  local name=$1 pid garbage=()
  shift
  is_running "$name" && return
  [[ ${FSYNC:-no} == yes ]] || garbage=(GOGC=400)
  mkdir -p "$LOGS" "$STATE/pids"
  {
    printf '# %s: ' "$(date --iso-8601=seconds)"
    printf '%q ' "$@"
    printf '\n'
  } >>"$LOGS/$name.log"
  # Closing 8 and 9 hands no lock to a process that lives on.
  setsid nsenter --net="/run/netns/$NETNS" env -i \
    PATH="$STATE/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME="$STATE" "${garbage[@]}" \
    "$@" </dev/null >>"$LOGS/$name.log" 2>&1 8>&- 9>&- &
  pid=$!
  disown "$pid"
  printf '%s %s\n' "$pid" "$(start_time_of "$pid")" >"$STATE/pids/$name"
}

# stop NAME...: all get SIGTERM together, then SIGKILL after 5 s; returns when every one has exited.
stop() {
  local name pid pids=() start
  for name in "$@"; do
    if pid=$(pid_of "$name"); then
      kill -TERM "$pid" 2>/dev/null || true
      pids+=("$name")
    fi
  done
  start=$(now_ms)
  for name in "${pids[@]}"; do
    while pid=$(pid_of "$name"); do
      if (($(now_ms) - start > 5000)); then kill -KILL "$pid" 2>/dev/null || true; fi
      sleep 0.05
    done
  done
  for name in "$@"; do rm -f "$STATE/pids/$name"; done
}

# stray_processes RUN STATE: ids of processes that have these directories as arguments: container shims, and what lost its pid
# file. Only programs out of the cache, and none that a person runs against the cluster.
stray_processes() {
  local run=$1 state=$2 file pid
  while IFS= read -r file; do
    pid=${file#/proc/} pid=${pid%/cmdline}
    case $(readlink "/proc/$pid/exe") in
      */kubectl*) ;;
      "$CACHE"/bin/*) printf '%s\n' "$pid" ;;
    esac
  done < <(grep -lzE "^(--?[a-z-]+=)?(unix://)?($run|$state)(/|\$)" /proc/[0-9]*/cmdline 2>/dev/null)
}

# kill_all PIDS...: SIGKILL, and wait until they have ended.
kill_all() {
  local pid start
  (($#)) || return 0
  kill -KILL "$@" 2>/dev/null || true
  start=$(now_ms)
  for pid in "$@"; do
    while start_time_of "$pid" >/dev/null; do
      (($(now_ms) - start > 10000)) && die "process $pid does not end"
      sleep 0.05
    done
  done
}

not_running() {
  local name
  for name in "$@"; do is_running "$name" || printf '%s\n' "$name"; done
}
