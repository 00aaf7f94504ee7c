# shellcheck shell=bash
# NetworkPolicies, on a cluster that is made to enforce them.

network_policy_cluster() {
  # That of the suite before, if it is up.
  [[ " ${STARTED[*]} " == *" $CLUSTER "* ]] || own_cluster "$CLUSTER" "${VERSION[@]}" || return
  deploy_manager || return
  if [[ -n $OURS ]]; then
    scripts/images --load "$OURS" etcd-3.5 postgres-15 postgres-17 >/dev/null && scripts/network-policy up --name "$OURS"
  else
    say "its network must enforce NetworkPolicies, and its nodes must have quay.io/coreos/etcd:v3.5.35 and" \
      "docker.io/library/postgres:15 and :17.12"
  fi
}

# Everything is let through again: other suites know nothing of policies.
network_policy_off() {
  kubectl delete --kustomize config/network-policy >/dev/null || return
  [[ -z $OURS ]] || scripts/network-policy down --name "$OURS"
}

network_policy() {
  run "network-policy build" cargo test "${LOCKED[@]}" --quiet -p e2e --test network_policy --no-run || return
  run "network-policy cluster" network_policy_cluster || return
  run "network-policy" suite network_policy --test-threads=4 --show-output
  run "network-policy off" network_policy_off
}
