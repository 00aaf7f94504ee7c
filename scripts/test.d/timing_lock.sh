# shellcheck shell=bash
# Background builds pause while a test measures times. MULTI_OPERATOR_TIMING_LOCK names the file that such a test locks
# (tests/src/timing.rs).

# pause_builds PGID...: stops these process groups while a test holds the lock, lets them go on when it is free again, and
# returns when all of them have ended. Run it in the background and end it with SIGTERM: however it ends, the groups go on.
#
# The file's neighbor `.running` is locked, shared, for as long as any build may run: the test that has the lock waits for
# that one, too. Before builds go on, this holds the first lock, shared, until it has the second: no test slips between.
pause_builds() (
  set -uo pipefail
  groups=("$@") file=${MULTI_OPERATOR_TIMING_LOCK:?it names the lock file} state=running
  signal() {
    local group
    for group in "${groups[@]}"; do kill "-$1" -- "-$group" 2>/dev/null; done
    return 0
  }
  some_live() {
    local group
    for group in "${groups[@]}"; do ! kill -0 -- "-$group" 2>/dev/null || return 0; done
    return 1
  }
  trap 'signal CONT' EXIT
  trap 'exit 143' TERM INT HUP
  exec {running}<>"$file.running" {never}<> <(:)
  flock --shared "$running"
  while some_live; do
    exec {lock}<>"$file"
    if flock --shared --nonblock "$lock"; then
      if [[ $state == stopped ]]; then
        flock --shared "$running"
        signal CONT
        state=running
      fi
    else
      # Each time: a process that was being forked may have missed the signal.
      signal STOP
      [[ $state == stopped ]] || flock --unlock "$running"
      state=stopped
    fi
    # Ends the lock, if it was to be had.
    exec {lock}>&-
    # A pause that needs no process, and that a signal ends.
    read -r -t 0.25 -u "$never"
  done
)

# alone COMMAND...: a command that measures times, as a test does that takes the lock: with builds paused, and no other of its
# kind. What it starts does not inherit the lock: a server that outlives it would hold it.
alone() (
  exec 9>>"$MULTI_OPERATOR_TIMING_LOCK" 8>>"$MULTI_OPERATOR_TIMING_LOCK.running"
  flock 9 || exit
  flock 8 || exit
  exec 8>&-
  "$@" 9>&-
)
