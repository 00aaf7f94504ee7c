# shellcheck shell=bash
# Power of a node other than the first. Off is a power failure: nothing on the node can send anything any more.

# A node's first step; its kubelet (node_up) comes once images are there.
power_on_containerd() {
  if ((NODE_NUMBER > 1)); then
    if [[ -d $NODE_STATE ]] && ! node_network_is_up; then power_off; fi
    node_network_up
    rejoin_node
  fi
  node_files
  containerd_up
}

power_off() {
  local pids
  # Before anything ends: the kernel would close a dead process's connections, and the other end would know.
  isolate_node 2>/dev/null || true
  # A process that starts during the search is found the next time.
  for _ in 1 2 3 4 5; do
    mapfile -t pids < <(node_processes)
    ((${#pids[@]})) || break
    kill_all "${pids[@]}"
  done
  ((${#pids[@]} == 0)) || die "processes of node $NODE do not end: ${pids[*]}"
  forget_shims "$NODE_RUN"
  unmount_below "$NODE_RUN"
  unmount_below "$NODE_STATE"
  cgroups_down
  node_network_down
  rm -rf --one-file-system "$NODE_RUN"
  rm -f "$STATE"/pids/*"$PART"
}

node_processes() {
  {
    [[ ! -e /run/netns/$NETNS ]] || ip netns pids "$NETNS"
    cgroup_processes
    stray_processes "$NODE_RUN" "$NODE_STATE"
  } | sort -un
}

# delete_disk: deletes what this node keeps while it is off, volumes included. The PersistentVolumes remain, as those of a lost
# disk do: to use a PVC on another node, delete it.
delete_disk() {
  local folder
  while IFS= read -r folder; do
    # Only directories that the provisioner creates, whatever an object says.
    [[ $folder =~ ^"$STATE/volumes/"[a-z0-9.-]+$ && $folder != */..* ]] || continue
    ! mountpoint -q "$folder" || umount --lazy "$folder"
    rm -rf --one-file-system "$folder"
    rm -f "$folder.ext4"
  done <<<"$1"
  rm -f "$PKI/kubelet$PART".{crt,key} "$STATE/kubeconfigs/kubelet$PART"
  forget_addresses
  [[ ! -d /var/log/containers ]] || find /var/log/containers -type l -lname "$NODE_STATE/*" -delete
  # Last: as long as it is there, the node counts as stopped, and can be deleted again.
  rm -rf --one-file-system "$NODE_STATE"
}

# The directories of the volumes that are on this node.
volume_folders() {
  local template='{range .items[*]}{.spec.local.path}{"\t"}{.spec.nodeAffinity.required.nodeSelectorTerms[*].matchExpressions[*].values[*]}{"\n"}{end}'
  kubectl_admin get persistentvolumes --output "jsonpath=$template" | awk -F'\t' -v node="$NODE" '$2 == node { print $1 }'
}
