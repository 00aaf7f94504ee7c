# shellcheck shell=bash
# Who gets the processors when all want them.

# Tasks of these groups share what all others leave: on Linux with autogroups (sched(7)) niceness counts within a session only,
# and the API servers and kubelets of the clusters under test are sessions of their own.
GAPS=multi-operator-gaps

# fill_gaps: this shell, and what it starts from now on, gives way to all others.
fill_gaps() {
  renice -n 19 "$BASHPID" >/dev/null
  [[ $(id -u) == 0 ]] || return 0
  local tree
  for tree in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
    [[ -e $tree/cgroup.procs ]] || continue
    mkdir -p "$tree/$GAPS" 2>/dev/null || return 0
    # An eighth of what a session has, in cgroup v1, then v2: enough to pass deadlines of its own.
    echo 128 2>/dev/null >"$tree/$GAPS/cpu.shares" || echo 12 2>/dev/null >"$tree/$GAPS/cpu.weight" || return 0
    echo "$BASHPID" 2>/dev/null >"$tree/$GAPS/cgroup.procs"
    return 0
  done
}

# The group of a run that has ended; that of another, active run stays.
no_more_gaps() { rmdir /sys/fs/cgroup/cpu/"$GAPS" /sys/fs/cgroup/"$GAPS" 2>/dev/null || true; }
