# shellcheck shell=bash
# The network between the nodes of one cluster: a switch, which is a bridge in a network namespace of its own, and a cable
# from it to each node. The first node routes to the host, so the others reach what it reaches and nothing beyond.

in_switch() { ip -netns "mo-$NAME.switch" "$@"; }

switch_is_up() { mountpoint -q "/run/netns/mo-$NAME.switch" && at_node 1 cable_is_there; }

# The first node's cable comes with the switch: whatever the others are, the control plane must reach it.
switch_up() {
  ip netns add "mo-$NAME.switch"
  # What passes from one node to another is judged by their rules: the switch has none, and tracks no connections.
  in_switch link add switch0 type bridge
  nsenter --net="/run/netns/mo-$NAME.switch" sh -c '
    [ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 0 >/proc/sys/net/bridge/bridge-nf-call-iptables
    echo 1 >/proc/sys/net/ipv6/conf/switch0/disable_ipv6 2>/dev/null || true
  '
  in_switch link set switch0 up
  at_node 1 plug_in
  # The host knows no way back to nodes and pods, but that to the first node. On one node the bridge plugin does the same.
  inside nft add table ip multi-operator
  inside nft add chain ip multi-operator to-host '{ type nat hook postrouting priority srcnat; }'
  inside nft add rule ip multi-operator to-host oifname node0 ip saddr "{ $POD_RANGE, $NODES_NETWORK.0/24 }" masquerade
}

# Both ends of this node's cable are there.
cable_is_there() {
  in_switch link show "port$NODE_NUMBER" >/dev/null 2>&1 &&
    [[ $(inside ip -o -4 addr show dev nodes0 2>/dev/null) == *" $(switch_address "$NODE_NUMBER")/"* ]]
}

# The switch's end is where a node is isolated: the node itself sees a cable without a signal.
is_plugged_in() { [[ $(in_switch -o link show "port$NODE_NUMBER" 2>/dev/null) =~ [\<,]UP[,\>] ]]; }

plug_in() {
  local number
  ip link add "port$NODE_NUMBER" netns "mo-$NAME.switch" type veth peer name nodes0 netns "$NETNS"
  in_switch link set "port$NODE_NUMBER" master switch0 up
  inside ip addr add "$(switch_address "$NODE_NUMBER")/24" dev nodes0
  inside ip link set nodes0 up
  for number in $(node_numbers); do
    ((number == NODE_NUMBER)) || inside ip route add "$(pods_of "$number")" via "$(switch_address "$number")"
  done
}

isolate_node() { in_switch link set "port$NODE_NUMBER" down; }
rejoin_node() { in_switch link set "port$NODE_NUMBER" up; }

node_network_is_up() {
  if ((NODE_NUMBER == 1)); then network_is_up; else mountpoint -q "/run/netns/$NETNS" && cable_is_there; fi
}

# The network of a node that is not the first: its own namespace, which reaches the others and, by way of the first, the host.
node_network_up() {
  node_network_is_up && return
  node_network_down
  ip netns add "$NETNS"
  inside ip link set lo up
  plug_in
  inside ip route add "$(host_network)" via "$(switch_address 1)"
  routes_of_node
  packets_of_node nodes0 service0
}

node_network_down() {
  # The cable would be deleted with its namespace, but only when the kernel gets to it: by name it is deleted now.
  in_switch link delete "port$NODE_NUMBER" 2>/dev/null || true
  delete_namespace "$NETNS"
}
