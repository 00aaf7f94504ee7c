# shellcheck shell=bash
# etcd, API server, controller-manager and scheduler.

etcd_up() {
  local fsync=()
  [[ $FSYNC == yes ]] || fsync=(--unsafe-no-fsync)
  start etcd "$STATE/bin/etcd" --name "$NAME" --data-dir "$STATE/etcd" \
    --listen-client-urls https://127.0.0.1:2379 --advertise-client-urls https://127.0.0.1:2379 \
    --cert-file "$PKI/etcd.crt" --key-file "$PKI/etcd.key" --trusted-ca-file "$PKI/etcd-ca.crt" --client-cert-auth \
    --listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380 \
    --initial-cluster "$NAME=http://127.0.0.1:2380" \
    --listen-metrics-urls http://127.0.0.1:2381 --log-level warn --quota-backend-bytes 8589934592 \
    --auto-compaction-mode periodic --auto-compaction-retention 5m "${fsync[@]}"
}

etcd_ready() { inside curl -fsS --max-time 2 http://127.0.0.1:2381/readyz; }

apiserver_up() {
  # Plugins: no kubelet may write to foreign objects, and a client that sets blockOwnerDeletion needs the permission (as on
  # OpenShift). The audit log counts clients' requests in tests and benchmarks, so it is never rotated away while it is read.
  start kube-apiserver "$STATE/bin/kube-apiserver" \
    --etcd-servers https://127.0.0.1:2379 --etcd-cafile "$PKI/etcd-ca.crt" \
    --etcd-certfile "$PKI/etcd-client.crt" --etcd-keyfile "$PKI/etcd-client.key" \
    --bind-address 0.0.0.0 --advertise-address "$NODE_IP" --secure-port 6443 \
    --tls-cert-file "$PKI/apiserver.crt" --tls-private-key-file "$PKI/apiserver.key" --client-ca-file "$PKI/ca.crt" \
    --authorization-mode Node,RBAC --allow-privileged \
    --enable-admission-plugins NodeRestriction,OwnerReferencesPermissionEnforcement \
    --service-cluster-ip-range "$SERVICE_RANGE" \
    --service-account-issuer https://kubernetes.default.svc.cluster.local \
    --service-account-key-file "$PKI/service-accounts.pub" --service-account-signing-key-file "$PKI/service-accounts.key" \
    --kubelet-certificate-authority "$PKI/ca.crt" --kubelet-preferred-address-types InternalIP \
    --kubelet-client-certificate "$PKI/apiserver-kubelet-client.crt" --kubelet-client-key "$PKI/apiserver-kubelet-client.key" \
    --requestheader-client-ca-file "$PKI/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
    --requestheader-extra-headers-prefix X-Remote-Extra- \
    --proxy-client-cert-file "$PKI/front-proxy.crt" --proxy-client-key-file "$PKI/front-proxy.key" \
    --audit-policy-file "$SCRIPTS/cluster.d/files/audit-policy.yaml" --audit-log-path "$STATE/audit.log" \
    --audit-log-maxsize 8192 --audit-log-mode blocking --shutdown-delay-duration 0s
}

# Clients of this script have neither the time nor the need for discovery: one GET.
api_get() { kubectl_admin --request-timeout 2s get --raw "$1"; }
kubectl_admin() { "$STATE/bin/kubectl" --kubeconfig "$KUBECONFIG_ADMIN" "$@"; }
apiserver_ready() { api_get /readyz; }

managers_up() {
  # The default limit of 20 requests a second alone would make the start 4 s longer.
  local fast=(--kube-api-qps=100 --kube-api-burst=200) scheduler_fast=()
  if [[ $PROFILE == control-plane ]]; then
    # Without these it is the bottleneck of every scale test.
    fast=(--kube-api-qps=500 --kube-api-burst=1000 --concurrent-deployment-syncs=50 --concurrent-replicaset-syncs=50)
    scheduler_fast=(--kube-api-qps=500 --kube-api-burst=1000)
  fi
  start kube-controller-manager "$STATE/bin/kube-controller-manager" \
    --kubeconfig "$STATE/kubeconfigs/kube-controller-manager" --use-service-account-credentials \
    --authentication-kubeconfig "$STATE/kubeconfigs/kube-controller-manager" \
    --authorization-kubeconfig "$STATE/kubeconfigs/kube-controller-manager" \
    --root-ca-file "$PKI/ca.crt" --service-account-private-key-file "$PKI/service-accounts.key" \
    --cluster-signing-cert-file "$PKI/ca.crt" --cluster-signing-key-file "$PKI/ca.key" \
    --bind-address 127.0.0.1 --leader-elect=false "${fast[@]}"
  start kube-scheduler "$STATE/bin/kube-scheduler" \
    --kubeconfig "$STATE/kubeconfigs/kube-scheduler" \
    --authentication-kubeconfig "$STATE/kubeconfigs/kube-scheduler" \
    --authorization-kubeconfig "$STATE/kubeconfigs/kube-scheduler" \
    --bind-address 127.0.0.1 --leader-elect=false "${scheduler_fast[@]}"
}

managers_ready() {
  inside curl -fsSk --max-time 2 https://127.0.0.1:10257/healthz && inside curl -fsSk --max-time 2 https://127.0.0.1:10259/healthz
}
