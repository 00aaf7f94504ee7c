# shellcheck shell=bash
# up, down and status: the order of things.

# In the order in which they stop: clients first, storage last.
components() {
  case $1 in
    full)
      # shellcheck disable=SC2046
      echo coredns provisioner $(of_nodes kube-proxy kubelet) kube-scheduler kube-controller-manager $(of_nodes containerd) \
        kube-apiserver etcd
      ;;
    control-plane) echo kwok kube-scheduler kube-controller-manager kube-apiserver etcd ;;
  esac
}

describe() {
  local nodes=''
  ! has_more_nodes || nodes=", $NODES nodes"
  printf 'cluster %s (%s profile, Kubernetes %s, etcd %s%s)' "$NAME" "$PROFILE" "$KUBERNETES" "$(fsync_words)" "$nodes"
}

fsync_words() {
  if [[ $FSYNC == yes ]]; then printf 'with fsync'; else printf 'WITHOUT fsync: not for benchmarks'; fi
}

write_settings() {
  printf '%s\n' "name=$NAME" "profile=$PROFILE" "kubernetes=$KUBERNETES" "fsync=$FSYNC" "nodes=$NODES" "slot=$SLOT" \
    "address=$NODE_IP" >"$STATE/settings.new"
  mv "$STATE/settings.new" "$STATE/settings"
}

# What was asked for must agree with what is there; what was not asked for is taken from there.
settle_settings() {
  local key given there
  for key in PROFILE KUBERNETES FSYNC NODES; do
    given=GIVEN_$key
    there=$(read_setting "${key,,}")
    # One from before clusters could have more.
    [[ $key != NODES || -n $there || ! -s $STATE/settings ]] || there=1
    if [[ -n $there && -n ${!given} && ${!given} != "$there" ]]; then
      die "cluster $NAME is there with ${key,,}=$there, not ${!given}: run 'scripts/cluster down --name $NAME' first"
    fi
    printf -v "$key" '%s' "${there:-${!given}}"
  done
  PROFILE=${PROFILE:-full}
  KUBERNETES=${KUBERNETES:-$DEFAULT_KUBERNETES}
  NODES=${NODES:-1}
  [[ $PROFILE == full || $NODES == 1 ]] || die "--nodes is for the full profile: kwok plays the nodes of $PROFILE"
  ((NODES == 1 || ${#STATE} <= 64)) || die "the directory $STATE has too long a path for more nodes: set MULTI_OPERATOR_CACHE to a shorter one"
  if [[ -z $FSYNC ]]; then [[ $PROFILE == full ]] && FSYNC=no || FSYNC=yes; fi
}

healthy() {
  local missing
  # shellcheck disable=SC2046
  missing=$(not_running $(components "$PROFILE"))
  [[ -z $missing ]] && network_is_up && each_node is_connected && apiserver_ready >/dev/null 2>&1 && profile_ready >/dev/null 2>&1
}

profile_ready() {
  managers_ready || return 1
  if [[ $PROFILE == full ]]; then addons_ready && each_node node_ready; else kwok_ready; fi
}

is_connected() { ((NODE_NUMBER == 1)) || [[ $(node_state) == running ]]; }

cluster_up() {
  local begin missing was_there=no
  begin=$(now_ms)
  require_machine
  require_base_packages
  lock_cluster
  settle_settings
  [[ -s $STATE/settings ]] && was_there=yes
  if [[ $was_there == yes ]]; then
    PKI=$STATE/pki
    choose_slot
    if healthy; then
      say "$(describe) is up already at https://$NODE_IP:6443"
      return
    fi
    # shellcheck disable=SC2046
    missing=$(not_running $(components "$PROFILE") | tr '\n' ' ')
    say "$(describe) is there but not healthy${missing:+ (not running: ${missing% })}: repairing"
  fi
  [[ $PROFILE == full ]] && require_node_packages
  build_cluster_tools "$PROFILE"
  attempt start_everything
  if ((STATUS)); then
    [[ $was_there == yes ]] || die "$(describe) did not start; its logs are in $LOGS ('scripts/cluster down --name $NAME' clears up)"
    say "repairing did not help: recreating $NAME, without its old data"
    teardown
    delete_state
    attempt start_everything
    ((STATUS == 0)) || die "$(describe) did not start; its logs are in $LOGS"
  fi
  say "$(describe) is up after $(since "$begin"); eval \"\$(scripts/cluster env --name $NAME)\" points kubectl at it"
}

# attempt FUNCTION: sets STATUS. As a condition (`if FUNCTION`), errexit would be off in all of it.
attempt() {
  set +e
  (
    set -e
    "$@"
  )
  STATUS=$?
  set -e
}

# Every step leaves alone what is there already, so that the same function starts and repairs.
start_everything() {
  local begin
  begin=$(now_ms)
  mkdir -p "$STATE" "$LOGS" "$RUN" "$RUN_ROOT"
  chmod 711 "$STATE" "$RUN"
  choose_slot
  write_settings
  link_cluster_tools
  allow_watchers
  # A recreated namespace is empty: everything that ran in the old one has to be restarted in it.
  if ! network_is_up; then
    # shellcheck disable=SC2046
    stop $(components "$PROFILE")
    kill_strays
  fi
  network_up
  certificates
  etcd_up
  if [[ $PROFILE == full ]]; then
    addon_files
    each_node power_on_containerd
  fi
  poll 120 "etcd" etcd_ready || return 1
  apiserver_up
  if [[ $PROFILE == full ]]; then
    each_node poll 120 "containerd" containerd_ready || return 1
    load_pause_image || return 1
  fi
  poll 240 "the API server" apiserver_ready || return 1
  say "  API server answers after $(since "$begin")"
  managers_up
  if [[ $PROFILE == full ]]; then
    each_node copy_images_here
    each_node node_up
    addons_up
  fi
  apply_addons || return 1
  [[ $PROFILE == full ]] || kwok_up
  poll 240 "all components" profile_ready || return 1
  poll 120 "the default service account" api_get /api/v1/namespaces/default/serviceaccounts/default || return 1
}

load_pause_image() {
  local tar
  tar=$(pause_image) || return 1
  has_image "$SANDBOX_IMAGE" "$(cat "$tar.digest")" || load_image "$tar"
}

# Through the files' own order; kubectl's apply is idempotent.
apply_addons() {
  {
    cat "$SCRIPTS/cluster.d/files/addons.yaml"
    if [[ $PROFILE == full ]]; then
      printf -- '---\n'
      cat "$SCRIPTS/cluster.d/files/storage-classes.yaml"
    else
      kwok_nodes
    fi
  } | kubectl_admin apply --server-side --force-conflicts --validate=false -f - >/dev/null
}

kill_strays() {
  local pids folder
  mapfile -t pids < <(cgroup_processes)
  kill_all "${pids[@]}"
  mapfile -t pids < <(stray_processes "$RUN" "$STATE")
  kill_all "${pids[@]}"
  forget_shims "$RUN"
  for folder in "$RUN"/nodes/*; do forget_shims "$folder"; done
}

# A shim that is killed leaves its socket in a directory that all containerds of the machine share.
forget_shims() {
  local bundle
  for bundle in "$1"/containerd/io.containerd.runtime.v2.task/*/*/bootstrap.json; do
    [[ ! -e $bundle ]] || rm -f "$(sed -nE 's|.*"unix://([^"]*)".*|\1|p' "$bundle")"
  done
}

# Stops all and gives back everything outside the state directory: processes, mounts, cgroups, network, sockets.
teardown() {
  if [[ $KEEP == yes ]]; then
    # Storage last, and the API server before it, which would otherwise wait for an etcd that has ended.
    # shellcheck disable=SC2046
    stop kwok coredns provisioner $(of_nodes kube-proxy kubelet) kube-scheduler kube-controller-manager
    stop kube-apiserver
    # shellcheck disable=SC2046
    stop etcd $(of_nodes containerd)
  fi
  kill_strays
  unmount_below "$STATE"
  unmount_below "$RUN"
  cgroups_down
  [[ -s $RUN/slot ]] && set_addresses "$(cat "$RUN/slot")"
  network_down
  rm -rf --one-file-system "$RUN"
  # Left by others on our behalf: kubelet's links to logs, CNI's cache of results.
  if [[ -d /var/log/containers ]]; then
    find /var/log/containers -type l -lname "$STATE/*" -delete
    rmdir /var/log/containers 2>/dev/null || true
  fi
  # The kubelet's socket for device plugins has a fixed path. If nothing else of a kubelet exists, it belonged to this cluster.
  if [[ $(ls -A /var/lib/kubelet 2>/dev/null) == device-plugins && -z $(ls -A "$RUN_ROOT"/*/runc "$RUN_ROOT"/*/nodes/*/runc 2>/dev/null) ]]; then
    rm -rf /var/lib/kubelet
  fi
  each_node forget_addresses
  rmdir /var/lib/cni/results /var/lib/cni 2>/dev/null || true
  rm -rf "$STATE/pids"
}

# CNI's notes on the pods of this node.
forget_addresses() {
  local result id
  for result in /var/lib/cni/results/"$NETNS"-*-eth0; do
    id=${result##*/"$NETNS"-} id=${id%-eth0}
    [[ ! $id =~ ^[0-9a-f]{64}$ ]] || rm -f "$result" "/var/lib/cni/results/cni-loopback-$id-lo"
  done
}

unmount_below() {
  local mounts
  # Newest first, so that nested mounts are removed before their parents. The kernel writes blanks in paths as \040.
  mounts=$(awk -v p="$1/" 'index($5, p) == 1 { print $5 }' /proc/self/mountinfo | tac)
  [[ -z $mounts ]] && return
  while IFS= read -r mount; do
    umount "$(printf '%b' "$mount")" 2>/dev/null || umount --lazy "$(printf '%b' "$mount")" 2>/dev/null || true
  done <<<"$mounts"
  # Deleting through a mount would delete what is on its other side.
  ! awk -v p="$1/" 'index($5, p) == 1 { f = 1 } END { exit !f }' /proc/self/mountinfo || die "something below $1 is still mounted"
}

delete_state() {
  # A file system that is mounted here after all may hold a user's data.
  awk -v p="$STATE/" 'index($5, p) == 1 { f = 1 } END { exit f }' /proc/self/mountinfo || die "something below $STATE is mounted"
  rm -rf --one-file-system "$STATE"
}

cluster_down() {
  local begin
  begin=$(now_ms)
  require_machine
  lock_cluster
  if [[ ! -e $STATE && ! -e $RUN && ! -e /run/netns/$NETNS ]]; then
    say "cluster $NAME is not there"
    return
  fi
  teardown
  if [[ $KEEP == yes ]]; then
    say "cluster $NAME is down after $(since "$begin"); its data is kept in $STATE"
  else
    delete_state
    say "cluster $NAME is down and deleted after $(since "$begin")"
  fi
}

require_cluster() {
  [[ -s $STATE/settings ]] || die "cluster $NAME is not there: scripts/cluster up --name $NAME"
  settle_settings
  PKI=$STATE/pki
  set_addresses "$(read_setting slot)"
}

cluster_status() {
  local component pid off
  require_cluster
  say "$(describe)"
  # Of a node that is off, its own line is enough.
  off=" $(each_node components_if_off | tr '\n' ' ')"
  for component in $(components "$PROFILE" | tr ' ' '\n' | tac); do
    [[ $off != *" $component "* ]] || continue
    if pid=$(pid_of "$component"); then
      printf '%-26s running, pid %s, %s MiB\n' "$component" "$pid" "$(($(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") / 1024))"
    else
      printf '%-26s NOT RUNNING (scripts/cluster logs %s --name %s)\n' "$component" "$component" "$NAME"
    fi
  done
  ! has_more_nodes || each_node describe_node
  printf '%-26s %s\n' address "https://$NODE_IP:6443" kubeconfig "$KUBECONFIG_ADMIN" "audit log" "$STATE/audit.log" etcd "$(fsync_words)"
  if healthy; then printf '%-26s yes\n' healthy; else
    printf '%-26s NO (scripts/cluster up --name %s repairs)\n' healthy "$NAME"
    return 1
  fi
}
