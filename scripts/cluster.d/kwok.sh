# shellcheck shell=bash
# kwok: nodes and pods that exist only in the API, for scale tests.

KWOK_NODES=10
KWOK_PODS=1000

kwok_up() {
  # No server port: kwok then also has nothing to say on a pod's logs and exec.
  start kwok "$STATE/bin/kwok" --kubeconfig "$STATE/kubeconfigs/kwok" --config "$SCRIPTS/cluster.d/files/kwok-stages.yaml" \
    --manage-all-nodes --node-ip "$NODE_IP" --cidr "$POD_RANGE" --node-lease-duration-seconds 40 --v 0
}

kwok_nodes() {
  local i
  for ((i = 0; i < KWOK_NODES; i++)); do
    cat <<NODE
---
apiVersion: v1
kind: Node
metadata:
  name: kwok-$i
  annotations: {kwok.x-k8s.io/node: fake}
  labels: {kubernetes.io/hostname: kwok-$i, kubernetes.io/os: linux, kubernetes.io/arch: amd64, type: kwok}
status:
  allocatable: {cpu: "1000", memory: 4Ti, pods: "$KWOK_PODS"}
  capacity: {cpu: "1000", memory: 4Ti, pods: "$KWOK_PODS"}
NODE
  done
}

kwok_ready() {
  local ready
  ready=$(kubectl_admin --request-timeout 5s get nodes --no-headers 2>/dev/null | grep -c '^kwok-[0-9]* *Ready ')
  ((ready == KWOK_NODES))
}
