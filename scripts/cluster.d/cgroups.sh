# shellcheck shell=bash
# The cgroup under which kubelet puts this cluster's pods, so that two clusters never share one, and all of a cluster's
# container processes can be found without asking containerd. cgroup v1 has one tree a controller, v2 one for all. The first
# node's is the cluster's; those of the others are in it.

cgroup_trees() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

cgroup_is_v2() { [[ -e /sys/fs/cgroup/cgroup.controllers ]]; }

# multi-operator, multi-operator/NAME and, for a node that is not the first, the one in it.
cgroup_levels() {
  local name level=''
  for name in ${CGROUP//\// }; do
    level+=${level:+/}$name
    printf '%s\n' "$level"
  done
}

cgroups_up() {
  local tree controller level
  while read -r tree; do
    mkdir -p "$tree/$CGROUP"
    # cpuset (v1) starts empty, and no process may enter an empty one.
    for level in $(cgroup_levels); do
      if [[ -e $tree/$level/cpuset.cpus && -e $tree/cpuset.cpus && -z $(cat "$tree/$level/cpuset.cpus") ]] && ! cgroup_is_v2; then
        cat "$tree/cpuset.cpus" >"$tree/$level/cpuset.cpus"
        cat "$tree/cpuset.mems" >"$tree/$level/cpuset.mems"
      fi
    done
  done < <(cgroup_trees)
  weigh_pods
  if cgroup_is_v2; then
    # A controller has to be handed down level by level. What the machine does not offer is left out.
    for level in . $(cgroup_levels); do
      # shellcheck disable=SC2013
      for controller in $(cat "/sys/fs/cgroup/$level/cgroup.controllers"); do
        echo "+$controller" 2>/dev/null >"/sys/fs/cgroup/$level/cgroup.subtree_control" || true
      done
    done
  fi
}

# With cgroup v1 and autogroups (sched(7)) each session that is busy weighs as much as all pods of all clusters: with three API
# servers and their tests, databases and the manager got a few percent of a processor each. On a node pods stand against one group
# with all else, and weigh as much as there are processors; with v2 they do here too.
weigh_pods() {
  local shares=/sys/fs/cgroup/cpu/${CGROUP%%/*}/cpu.shares
  ! cgroup_is_v2 && [[ -e $shares ]] || return 0
  echo "$((4 * 1024 * $(nproc)))" >"$shares"
}

# Every process in the containers of this cluster or, at a node, of that node.
cgroup_processes() {
  local tree
  while read -r tree; do
    [[ -d $tree/$CGROUP ]] && find "$tree/$CGROUP" -name cgroup.procs -exec cat {} + 2>/dev/null
  done < <(cgroup_trees) | sort -un
}

cgroups_down() {
  local tree
  while read -r tree; do
    [[ -d $tree/$CGROUP ]] || continue
    # Deepest first; a cgroup whose last process has just ended may be busy for a moment.
    poll 5 "cgroups under $tree/$CGROUP to be free" remove_cgroup "$tree/$CGROUP" || true
    # The cluster's own stays while it runs, even where it happens to be empty.
    [[ $CGROUP == */*/* ]] || rmdir "$tree/${CGROUP%/*}" 2>/dev/null || true
  done < <(cgroup_trees)
}

remove_cgroup() {
  find "$1" -depth -type d -exec rmdir {} \; 2>/dev/null
  [[ ! -d $1 ]]
}
