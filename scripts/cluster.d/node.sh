# shellcheck shell=bash
# What the full profile adds to the control plane: containerd, kubelet and kube-proxy of each node, and on the first one
# CoreDNS and the volume provisioner.

SANDBOX_IMAGE=localhost/multi-operator-pause:1
CNI_PLUGINS=/usr/lib/cni

# shellcheck source=cluster.d/node-images.sh
. "$SCRIPTS/cluster.d/node-images.sh"

# Lowering a process's oom score needs CAP_SYS_RESOURCE, which a container that runs this may not have.
may_lower_oom_score() { sh -c 'echo -1 >/proc/self/oom_score_adj' 2>/dev/null; }

node_files() {
  local restrict=false masquerade=false translate=true
  may_lower_oom_score || restrict=true
  # Without it, the answer of one pod to another of the same bridge would pass by kube-proxy's address translation.
  inside test -e /proc/sys/net/bridge/bridge-nf-call-iptables || masquerade=true
  # Pods of two nodes talk by their own addresses; what leaves for the host is translated on the first node (switch.sh).
  ! has_more_nodes || translate=false
  mkdir -p "$NODE_STATE/cni" "$NODE_STATE/kubelet" "$NODE_RUN"

  # By default containerd asks each shim for its usage once a second, and sums up each snapshot's files every ten. The kubelet reads
  # neither (it has cAdvisor), and with 30 idle pods they take an eighth of a processor.
  cat >"$NODE_STATE/containerd.toml" <<CONFIG
version = 3
root = "$NODE_STATE/containerd"
state = "$NODE_RUN/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.image-verifier.v1.bindir"]

[grpc]
  address = "$CONTAINERD_SOCKET"

[plugins."io.containerd.cri.v1.images"]
  stats_collect_period = 3600

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$SANDBOX_IMAGE"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = $restrict
  netns_mounts_under_state_dir = true
  stats_collect_period = "1h"

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["$CNI_PLUGINS"]
  conf_dir = "$NODE_STATE/cni"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = false
  Root = "$NODE_RUN/runc"

[plugins."io.containerd.nri.v1.nri"]
  disable = true
CONFIG

  # hairpinMode lets a pod reach itself through its own service.
  cat >"$NODE_STATE/cni/10-pods.conflist" <<CONFIG
{"cniVersion": "1.0.0", "name": "$NETNS", "plugins": [
  {"type": "bridge", "bridge": "pods0", "isGateway": true, "ipMasq": $translate, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$NODE_PODS"}]], "routes": [{"dst": "0.0.0.0/0"}],
            "dataDir": "$NODE_STATE/cni-addresses"}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
CONFIG

  printf 'nameserver %s\n' "$CONTROL_PLANE_IP" >"$NODE_STATE/resolv.conf"

  # Nothing is evicted or collected because the machine's disk is full of other things.
  cat >"$NODE_STATE/kubelet.yaml" <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://$CONTAINERD_SOCKET
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: "$PKI/ca.crt"}}
authorization: {mode: Webhook}
tlsCertFile: $PKI/kubelet$PART.crt
tlsPrivateKeyFile: $PKI/kubelet$PART.key
clusterDomain: cluster.local
clusterDNS: [$CONTROL_PLANE_IP]
resolvConf: $NODE_STATE/resolv.conf
podLogsDir: $NODE_STATE/pod-logs
volumePluginDir: $NODE_STATE/kubelet-plugins
cgroupDriver: cgroupfs
cgroupRoot: /$CGROUP
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
serializeImagePulls: false
registryPullQPS: 0
eventRecordQPS: 0
healthzBindAddress: 127.0.0.1
CONFIG

  # All conntrack settings 0: they belong to the machine and not to a network namespace.
  cat >"$NODE_STATE/kube-proxy.yaml" <<CONFIG
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: "$STATE/kubeconfigs/kube-proxy"}
hostnameOverride: $NODE
mode: nftables
clusterCIDR: $POD_RANGE
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
oomScoreAdj: 0
nftables: {masqueradeAll: $masquerade, minSyncPeriod: 100ms}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s, udpTimeout: 0s, udpStreamTimeout: 0s}
CONFIG
}

addon_files() {
  mkdir -p "$STATE/volumes"
  # Volumes are the business of their pods only; kubelet bind-mounts them by their full path.
  chmod 711 "$STATE/volumes"
  # Names outside the cluster do not exist, and the answer comes at once. Nothing is cached: the plugin answers from memory, and
  # tests resolve names of pods that have just been created.
  cat >"$STATE/Corefile" <<CONFIG
.:53 {
  bind $CONTROL_PLANE_IP
  errors
  health 127.0.0.1:8081
  ready 127.0.0.1:8181
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $STATE/kubeconfigs/coredns
    pods insecure
    ttl 1
    fallthrough in-addr.arpa
  }
  template ANY ANY . {
    rcode NXDOMAIN
  }
}
CONFIG
}

containerd_up() {
  # Its own resolver would ask the machine's name servers, which the namespace cannot reach: refused at once, see network.sh.
  start "containerd$PART" "$STATE/bin/containerd" --config "$NODE_STATE/containerd.toml" --address "$CONTAINERD_SOCKET" --log-level info
}

ctr_here() { CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 inside "$STATE/bin/ctr" --address "$CONTAINERD_SOCKET" --namespace k8s.io "$@"; }

containerd_ready() { inside "$STATE/bin/ctr" --address "$CONTAINERD_SOCKET" --timeout 2s version; }

node_up() {
  local labels=()
  # A cluster of one node has no zones.
  ! has_more_nodes || labels=(--node-labels "topology.kubernetes.io/region=$REGION,topology.kubernetes.io/zone=$(zone_of "$NODE_NUMBER")")
  cgroups_up
  start "kubelet$PART" "$STATE/bin/kubelet" --config "$NODE_STATE/kubelet.yaml" --kubeconfig "$STATE/kubeconfigs/kubelet$PART" \
    --root-dir "$NODE_STATE/kubelet" --hostname-override "$NODE" --node-ip "$NODE_IP" --cert-dir "$NODE_STATE/kubelet/pki" "${labels[@]}"
  start "kube-proxy$PART" "$STATE/bin/kube-proxy" --config "$NODE_STATE/kube-proxy.yaml"
}

addons_up() {
  start coredns "$STATE/bin/coredns" -conf "$STATE/Corefile"
  start provisioner "$STATE/bin/provisioner" --kubeconfig "$STATE/kubeconfigs/provisioner" --node "$NODE" --folder "$STATE/volumes"
}

# kube-proxy first: to ask it costs next to nothing.
node_ready() {
  inside curl -fsS --max-time 2 http://127.0.0.1:10256/healthz &&
    kubectl_admin --request-timeout 2s get node "$NODE" --no-headers 2>/dev/null | grep -qE " Ready( |$)"
}

addons_ready() { inside curl -fsS --max-time 2 http://127.0.0.1:8181/ready; }
