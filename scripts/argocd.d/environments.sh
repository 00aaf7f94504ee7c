# shellcheck shell=bash
# One cluster an environment. Argo CD lives on the first one, and calls the others by their nodes' addresses.

# use_environment NAME: its cluster becomes the one that the functions of scripts/cluster are about.
use_environment() {
  set_cluster_paths "$PREFIX-$1"
  # shellcheck disable=SC2034
  CONTAINERD_SOCKET=$RUN/containerd.sock
  [[ -s $STATE/settings ]] || die "cluster $NAME is not there: scripts/cluster up --name $NAME"
  set_addresses "$(read_setting slot)"
}

use_home() { use_environment "${ENVIRONMENTS[0]}"; }

# Every cluster is there and runs; the first one is in use afterward.
require_environments() {
  local environment
  for environment in "${ENVIRONMENTS[@]}"; do
    use_environment "$environment"
    if [[ $(read_setting profile) != full ]] || ! is_running kube-apiserver; then
      die "cluster $NAME does not run with containers: scripts/cluster up --name $NAME"
    fi
  done
  use_home
}

# A cluster's network leads to the host and not beyond. So a cable of their own joins the first cluster's namespace with each
# other one's, with a route to the one address behind it; it is deleted when either namespace is.
connect_environments() {
  local environment home=$NETNS home_ip=$NODE_IP link
  for environment in "${ENVIRONMENTS[@]:1}"; do
    use_environment "$environment"
    link=argo$SLOT
    if ! ip -netns "$home" route get "$NODE_IP" 2>/dev/null | grep -q " dev $link "; then
      ip -netns "$home" link delete "$link" 2>/dev/null || true
      ip link add "$link" netns "$home" type veth peer name argo-home netns "$NETNS"
      ip -netns "$home" link set "$link" up
      inside ip link set argo-home up
      ip -netns "$home" route replace "$NODE_IP/32" dev "$link" src "$home_ip"
      inside ip route replace "$home_ip/32" dev argo-home src "$NODE_IP"
    fi
  done
  use_home
}

# What the kubeconfig of a cluster has for a user or a cluster, such as `certificate-authority-data`.
of_kubeconfig() { kubectl_admin config view --raw --flatten --output "jsonpath={$1}"; }

# Argo CD knows a cluster by a Secret, and ApplicationSets find it by that Secret's labels. The one that it lives on has the
# address of every cluster's own API server, and needs no credentials.
cluster_secrets() {
  local environment server config
  for environment in "${ENVIRONMENTS[@]}"; do
    use_environment "$environment"
    server=https://kubernetes.default.svc config='{"tlsClientConfig": {"insecure": false}}'
    if [[ $environment != "${ENVIRONMENTS[0]}" ]]; then
      server=$(of_kubeconfig '.clusters[0].cluster.server')
      config=$(printf '{"tlsClientConfig": {"caData": "%s", "certData": "%s", "keyData": "%s"}}' \
        "$(of_kubeconfig '.clusters[0].cluster.certificate-authority-data')" \
        "$(of_kubeconfig '.users[0].user.client-certificate-data')" "$(of_kubeconfig '.users[0].user.client-key-data')")
    fi
    cat <<OBJECT
---
apiVersion: v1
kind: Secret
metadata:
  name: cluster-$environment
  namespace: $ARGOCD_NAMESPACE
  labels: {argocd.argoproj.io/secret-type: cluster, environment: $environment}
stringData:
  name: $environment
  server: $server
  config: '$config'
OBJECT
  done
  use_home
}
