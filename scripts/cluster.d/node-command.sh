# shellcheck shell=bash
# `scripts/cluster node NAME stop|start|isolate|rejoin|delete`. Each says what it did, or that it was so already; what cannot
# be done to a node as it is now is refused, with the command that helps.

declare -A NODE_ACTIONS=([stop]=stopped [start]=started [isolate]=isolated [rejoin]=rejoined [delete]=deleted)

# node_command NAME ACTION
node_command() {
  local name=$1 action=$2 number
  [[ -n ${NODE_ACTIONS[$action]:-} ]] || bad_usage "unknown action '$action' of a node: it is stop, start, isolate, rejoin or delete"
  require_machine
  lock_cluster
  require_cluster
  [[ $PROFILE == full ]] || die "cluster $NAME has the $PROFILE profile: kwok plays its nodes, none of which can be ${NODE_ACTIONS[$action]}"
  number=$(node_number "$name")
  if ((number == 1)) && [[ $action =~ ^(stop|isolate|delete)$ ]]; then
    die "node $name holds the control plane and cannot be ${NODE_ACTIONS[$action]}: $(other_nodes)"
  fi
  if ! is_running kube-apiserver || ! network_is_up; then die "cluster $NAME is not running: scripts/cluster up --name $NAME"; fi
  at_node "$number" act_on_node "$action"
}

other_nodes() {
  local numbers
  if ! has_more_nodes; then
    printf 'scripts/cluster up --name OTHER --nodes 3 starts a cluster that has other nodes'
    return
  fi
  numbers=$(more_nodes)
  printf 'take another one of this cluster, such as %s' "$(node_name "${numbers%%$'\n'*}")"
}

act_on_node() {
  local action=$1 state begin
  state=$(node_state)
  begin=$(now_ms)
  case $action:$state in
    stop:running | stop:isolated) power_off ;;
    start:stopped | start:deleted) start_node ;;
    start:running)
      if node_is_whole; then
        say "node $NODE is running already"
        return
      fi
      start_node
      ;;
    isolate:running) isolate_node ;;
    rejoin:isolated) rejoin_and_wait ;;
    delete:running | delete:isolated | delete:stopped) delete_node ;;
    stop:stopped | isolate:isolated | delete:deleted)
      say "node $NODE is $state already"
      return
      ;;
    rejoin:running)
      say "node $NODE is not isolated: nothing to do"
      return
      ;;
    start:isolated) node_is "$state" rejoin "connects it" ;;
    isolate:stopped | rejoin:stopped) node_is "$state" start "starts it" ;;
    *:deleted) node_is "$state" start "makes a new one" ;;
  esac
  say "node $NODE is ${NODE_ACTIONS[$action]} after $(since "$begin")"
}

# node_is STATE ACTION MESSAGE: rejects the action, and names the action that makes it possible.
node_is() { die "node $NODE is $1: 'scripts/cluster node $NODE $2 --name $NAME' $3"; }

# Everything of this node runs, and the API server has heard so.
node_is_whole() {
  # shellcheck disable=SC2046
  [[ -z $(not_running $(node_components "$NODE_NUMBER" kube-proxy kubelet containerd)) ]] && node_ready >/dev/null 2>&1
}

# Until the kubelet that starts now has reported: what the Node says before then is of the one before it.
start_node() {
  local begin ready=node_ready
  begin=$(date +%s)
  is_running "kubelet$PART" || ready="node_reports_since $begin"
  certificates
  power_on_containerd
  poll 30 "containerd" containerd_ready || die "its log: scripts/cluster logs containerd$PART --name $NAME"
  load_pause_image || die "containerd of $NODE refused the image of pods' sandboxes"
  copy_images_here
  node_up
  unlock_cluster
  # shellcheck disable=SC2086
  poll 90 "node $NODE to be Ready" $ready || die "its log: scripts/cluster logs kubelet$PART --name $NAME"
}

# A kubelet that was out of reach renews its lease first.
rejoin_and_wait() {
  local begin
  begin=$(date +%s)
  rejoin_node
  unlock_cluster
  poll 90 "node $NODE to be Ready" node_renews_since "$begin" || die "its log: scripts/cluster logs kubelet$PART --name $NAME"
}

# Who acts on another node need not wait until this one is Ready.
unlock_cluster() { exec 9>&-; }

node_reports_since() {
  local answer
  answer=$(kubectl_admin --request-timeout 2s get node "$NODE" \
    --output 'jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime}{end}') || return
  [[ $answer == True\ * ]] && is_since "$1" "${answer#True }" && node_ready
}

node_renews_since() {
  local renewed
  renewed=$(kubectl_admin --request-timeout 2s get lease --namespace kube-node-lease "$NODE" --output 'jsonpath={.spec.renewTime}') || return
  is_since "$1" "$renewed" && node_ready
}

is_since() { (($(date --date "$2" +%s) >= $1)); }

# The kubelet is stopped before its Node is deleted, or it would register another one.
delete_node() {
  local folders
  folders=$(volume_folders)
  power_off
  kubectl_admin delete node "$NODE" --ignore-not-found >/dev/null
  delete_disk "$folders"
}

# For `status`: a line about this node.
describe_node() {
  local state
  state=$(node_state)
  printf '%-26s %s, %s, %s' "node $NODE" "$state" "$(zone_of "$NODE_NUMBER")" "$NODE_IP"
  case $state in
    running) if node_is_whole; then printf ', Ready\n'; else printf ', NOT READY\n'; fi ;;
    isolated) printf ' (scripts/cluster node %s rejoin --name %s)\n' "$NODE" "$NAME" ;;
    *) printf ' (scripts/cluster node %s start --name %s)\n' "$NODE" "$NAME" ;;
  esac
}

components_if_off() {
  case $(node_state) in
    stopped | deleted) node_components "$NODE_NUMBER" kube-proxy kubelet containerd ;;
  esac
}
