# shellcheck shell=bash
# The nodes of a cluster, and what each of them has of its own.
#
# The first node shares the cluster's network namespace with the control plane. With `up --nodes N` there are N - 1 more,
# and each has what a machine has: a network namespace, a containerd, a kubelet and a kube-proxy, a state and a run directory,
# a cgroup and a certificate. The functions of node.sh, network.sh and cgroups.sh work on "this node": the one that
# `at_node` names.

# Enough for three zones of three. Each node costs about 180 MiB of memory.
MOST_NODES=9
NODES_NETWORK=10.245.0
REGION=local
# Set by scripts/cluster; other scripts read it from the cluster's settings.
NODES=

# How many nodes the cluster has, deleted ones included.
node_count() {
  local count=$NODES
  [[ -n $count ]] || count=$(read_setting nodes)
  printf '%s' "${count:-1}"
}

node_numbers() { seq 1 "$(node_count)"; }
more_nodes() { seq 2 "$(node_count)"; }
has_more_nodes() { (($(node_count) > 1)); }

# Zones take turns: three nodes are in three zones, six are two in each.
zone_of() { printf 'zone-%s' "$(printf 'a b c' | cut -d ' ' -f $((($1 - 1) % 3 + 1)))"; }

node_name() { printf '%s' "$NAME-node$(part_of "$1")"; }

# The suffix of the components of a node other than the first, as in `kubelet-2`.
part_of() { (($1 == 1)) || printf -- '-%s' "$1"; }

# at_node NUMBER COMMAND...: runs a function with that node as "this node". The dot in the names of a network namespace keeps
# them apart from those of another cluster, whose name cannot have one.
# shellcheck disable=SC2034
at_node() {
  local NODE_NUMBER=$1 PART NODE NODE_IP=${CONTROL_PLANE_IP:-} NODE_STATE=$STATE NODE_RUN=$RUN NETNS=mo-$NAME \
    CGROUP=multi-operator/$NAME NODE_PODS=$POD_RANGE CONTAINERD_SOCKET
  shift
  PART=$(part_of "$NODE_NUMBER") NODE=$(node_name "$NODE_NUMBER")
  if ((NODE_NUMBER > 1)); then
    NODE_IP=$(switch_address "$NODE_NUMBER")
    NODE_STATE=$STATE/nodes/$NODE_NUMBER NODE_RUN=$RUN/nodes/$NODE_NUMBER
    NETNS+=.$NODE_NUMBER CGROUP+=/$NODE
  fi
  if has_more_nodes; then NODE_PODS=$(pods_of "$NODE_NUMBER"); fi
  CONTAINERD_SOCKET=$NODE_RUN/containerd.sock
  "$@"
}

switch_address() { printf '%s.%s' "$NODES_NETWORK" "$1"; }
pods_of() { printf '10.244.%s.0/24' "$1"; }

# each_node COMMAND...: at one node after the other; fails at the first one that does.
each_node() {
  local number status
  for number in $(node_numbers); do
    at_node "$number" "$@"
    # Where the caller's condition has errexit switched off, the status is all there is.
    status=$?
    ((status == 0)) || return "$status"
  done
}

# at_once COMMAND...: at all nodes at the same time; fails if one does.
at_once() {
  local number pid pids=() status=0
  for number in $(node_numbers); do
    at_node "$number" "$@" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return "$status"
}

# node_components NUMBER COMPONENT...: what they are called there, one a line.
node_components() {
  local number=$1 component
  shift
  for component in "$@"; do printf '%s%s\n' "$component" "$(part_of "$number")"; done
}

# The same components of every node, the first one's first.
of_nodes() {
  local number
  for number in $(node_numbers); do node_components "$number" "$@"; done
}

# node_number NAME: which node that is.
node_number() {
  local number
  for number in $(node_numbers); do
    [[ $(node_name "$number") != "$1" ]] || { printf '%s' "$number"; return; }
  done
  die "cluster $NAME has no node '$1'; its nodes are $(for number in $(node_numbers); do node_name "$number" && printf ' '; done)"
}

# The kernel counts inotify instances by user, and gives 128. Each node takes nine and each pod that watches files more, so a few
# clusters side by side would meet that limit.
INOTIFY=/proc/sys/fs/inotify/max_user_instances
WATCHERS=1024
allow_watchers() {
  (($(cat "$INOTIFY") < WATCHERS)) || return 0
  printf '%s\n' "$WATCHERS" 2>/dev/null >"$INOTIFY" ||
    say "fs.inotify.max_user_instances is $(cat "$INOTIFY") and cannot be raised: kubelets may not start (too many open files)"
}

# How this node is: running, isolated, stopped or deleted. Nothing records it: it is what the machine shows.
node_state() {
  if ((NODE_NUMBER == 1)); then
    printf running
  elif [[ ! -d $NODE_STATE ]]; then
    printf deleted
  elif ! node_network_is_up; then
    printf stopped
  elif ! is_plugged_in; then
    printf isolated
  else
    printf running
  fi
}
