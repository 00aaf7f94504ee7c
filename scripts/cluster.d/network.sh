# shellcheck shell=bash
# The cluster's network namespace and the one cable to the host.
#
# Inside, everything may use its usual ports and addresses. The host's own tables stay untouched: its end of the cable
# has an address, and that is all. Nothing leads on from there, so the cluster reaches the host and nothing beyond it.

SERVICE_RANGE=10.96.0.0/16
API_SERVICE=10.96.0.1
POD_RANGE=10.244.0.0/16

# shellcheck source=cluster.d/nodes.sh
. "$SCRIPTS/cluster.d/nodes.sh"
# shellcheck source=cluster.d/switch.sh
. "$SCRIPTS/cluster.d/switch.sh"

inside() { nsenter --net="/run/netns/$NETNS" "$@"; }

# Interface names may have 15 characters, cluster names more: the slot's number is short and unique on the machine.
set_addresses() {
  SLOT=$1
  HOST_LINK=mo$SLOT
  local base=$((SLOT * 4))
  HOST_IP=10.223.$((base / 256)).$((base % 256 + 1))
  NODE_IP=10.223.$((base / 256)).$((base % 256 + 2))
  # The API server and the name server are on the first node, at its address.
  CONTROL_PLANE_IP=$NODE_IP
}

# The cable's network: the cluster's end and the host's.
host_network() { printf '%s/30' "$(awk -F. -v OFS=. '{ $4 -= 2; print }' <<<"$CONTROL_PLANE_IP")"; }

# Chooses a slot (a /30 out of 10.223.0.0/16) that no other cluster has, and keeps it in RUN while the cluster exists.
# A cluster that comes back with kept data takes its old slot when that is still free.
choose_slot() {
  local wanted slot taken
  mkdir -p "$RUN"
  if [[ -s $RUN/slot ]]; then
    set_addresses "$(cat "$RUN/slot")"
    return
  fi
  exec 7>"$RUN_ROOT/slots.lock"
  flock 7
  wanted=$(read_setting slot)
  taken=" $( (cat "$RUN_ROOT"/*/slot 2>/dev/null || true) | tr '\n' ' ') "
  for slot in $wanted $(seq 0 255); do
    set_addresses "$slot"
    [[ $taken != *" $slot "* ]] || continue
    # Also free on the host: another program, or a cluster with its run directory lost, may use the range.
    [[ -z $(ip -o addr show to "$HOST_IP/30") && ! -e /sys/class/net/$HOST_LINK ]] || continue
    printf '%s\n' "$slot" >"$RUN/slot"
    exec 7>&-
    return
  done
  die "no free network of 10.223.0.0/16 left for $NAME"
}

network_is_up() {
  mountpoint -q "/run/netns/$NETNS" && [[ -e /sys/class/net/$HOST_LINK ]] &&
    [[ $(ip -o -4 addr show dev "$HOST_LINK") == *" $HOST_IP/"* ]] &&
    [[ $(inside ip -o -4 addr show dev node0 2>/dev/null) == *" $NODE_IP/"* ]] && { ! has_more_nodes || switch_is_up; }
}

network_up() {
  network_is_up && return
  network_down
  ip netns add "$NETNS"
  ip link add "$HOST_LINK" type veth peer name node0 netns "$NETNS"
  ip addr add "$HOST_IP/30" dev "$HOST_LINK"
  ip link set "$HOST_LINK" up
  inside ip link set lo up
  inside ip addr add "$NODE_IP/30" dev node0
  inside ip link set node0 up
  routes_of_node
  packets_of_node node0 service0
  if has_more_nodes; then switch_up; fi
}

routes_of_node() {
  # Service addresses need a route before kube-proxy's rules see them; an empty bridge will do (the kernel may lack `dummy`).
  inside ip link add service0 type bridge
  inside ip link set service0 up
  inside ip route add "$SERVICE_RANGE" dev service0
  # Everything else is refused at once, so that a pull from a registry fails in milliseconds instead of hanging.
  inside ip route add unreachable default
}

# packets_of_node INTERFACE...: how the kernel treats what passes through this node.
packets_of_node() {
  # shellcheck disable=SC2016
  inside sh -c '
    echo 1 >/proc/sys/net/ipv4/ip_forward
    # Pods of one bridge that talk through a service: the answer has to pass kube-proxy'"'"'s translation again.
    [ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
    for i in all default "$@"; do echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter; done
  ' sh "$@"
}

network_down() {
  local file
  for file in "/run/netns/$NETNS".*; do [[ ! -e $file ]] || delete_namespace "${file##*/}"; done
  if [[ -e /run/netns/$NETNS ]]; then
    # Either end takes its peer along; deleting it by name first makes that happen now and not when the kernel gets to it.
    [[ -z ${HOST_LINK:-} || ! -e /sys/class/net/$HOST_LINK ]] || ip link delete "$HOST_LINK" 2>/dev/null || true
    delete_namespace "$NETNS"
  elif [[ -n ${HOST_LINK:-} && -s $RUN/slot && -e /sys/class/net/$HOST_LINK ]]; then
    ip link delete "$HOST_LINK" 2>/dev/null || true
  fi
}

delete_namespace() {
  [[ -e /run/netns/$1 ]] || return 0
  ip netns delete "$1" 2>/dev/null || { umount -l "/run/netns/$1" 2>/dev/null || true; rm -f "/run/netns/$1"; }
}
