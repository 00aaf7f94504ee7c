# shellcheck shell=bash
# One certificate authority a cluster, and a certificate and kubeconfig for each component, named as RBAC expects them.

PKI_DAYS=3650

# certificate NAME SUBJECT [SUBJECT-ALT-NAMES]: signed by the cluster's authority, for clients and, with names, servers.
certificate() {
  local name=$1 subject=$2 names=${3:-} authority=${4:-ca}
  [[ -s $PKI/$name.crt ]] && return
  {
    printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\n'
    if [[ -n $names ]]; then
      printf 'extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=%s\n' "$names"
    else
      printf 'extendedKeyUsage=clientAuth\n'
    fi
  } >"$PKI/$name.ext"
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$PKI/$name.key" -out "$PKI/$name.csr" \
    -subj "$subject" 2>/dev/null
  openssl x509 -req -in "$PKI/$name.csr" -CA "$PKI/$authority.crt" -CAkey "$PKI/$authority.key" -days "$PKI_DAYS" \
    -set_serial "0x$(openssl rand -hex 8)" -extfile "$PKI/$name.ext" -out "$PKI/$name.crt.new" 2>/dev/null
  # Under its own name only when whole: a run that was killed half-way is then simply continued.
  mv "$PKI/$name.crt.new" "$PKI/$name.crt"
  rm -f "$PKI/$name.csr" "$PKI/$name.ext"
}

authority() {
  [[ -s $PKI/$1.crt ]] && return
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$PKI/$1.key" -out "$PKI/$1.crt.new" \
    -days "$PKI_DAYS" -subj "/CN=$NAME-$1" -addext keyUsage=critical,keyCertSign,digitalSignature 2>/dev/null
  mv "$PKI/$1.crt.new" "$PKI/$1.crt"
}

kubeconfig() {
  local name=$1 target=$2
  [[ -s $target ]] && return
  (
    umask 077
    cat >"$target.new" <<CONFIG
apiVersion: v1
kind: Config
clusters:
- name: $NAME
  cluster:
    server: https://$NODE_IP:6443
    certificate-authority-data: $(base64 -w0 "$PKI/ca.crt")
users:
- name: $name
  user:
    client-certificate-data: $(base64 -w0 "$PKI/$name.crt")
    client-key-data: $(base64 -w0 "$PKI/$name.key")
contexts:
- name: $NAME
  context: {cluster: $NAME, user: $name}
current-context: $NAME
CONFIG
    mv "$target.new" "$target"
  )
}

certificates() {
  local old_umask name
  PKI=$STATE/pki
  mkdir -p "$PKI" "$STATE/kubeconfigs"
  chmod 700 "$PKI" "$STATE/kubeconfigs"
  # Kept data may come back at another address: what carries the address is made anew.
  if [[ $(cat "$PKI/address" 2>/dev/null) != "$NODE_IP" ]]; then
    rm -f "$PKI/apiserver.crt" "$PKI/kubelet.crt" "$STATE"/kubeconfigs/* "$KUBECONFIG_ADMIN"
  fi
  old_umask=$(umask)
  umask 077
  authority ca
  authority front-proxy-ca
  authority etcd-ca
  if [[ ! -s $PKI/service-accounts.key ]]; then
    openssl genrsa -out "$PKI/service-accounts.key.new" 2048 2>/dev/null
    openssl rsa -in "$PKI/service-accounts.key.new" -pubout -out "$PKI/service-accounts.pub" 2>/dev/null
    mv "$PKI/service-accounts.key.new" "$PKI/service-accounts.key"
  fi
  certificate apiserver /CN=kube-apiserver \
    "IP:$NODE_IP,IP:$API_SERVICE,IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local" &
  certificate kubelet "/O=system:nodes/CN=system:node:$NODE" "IP:$NODE_IP,DNS:$NODE" &
  certificate etcd /CN=etcd IP:127.0.0.1 etcd-ca &
  certificate etcd-client /CN=kube-apiserver "" etcd-ca &
  certificate front-proxy /CN=front-proxy-client "" front-proxy-ca &
  certificate apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client &
  certificate admin /O=system:masters/CN=admin &
  for name in kube-controller-manager kube-scheduler kube-proxy; do certificate $name "/CN=system:$name" & done
  for name in coredns provisioner kwok; do certificate $name "/CN=system:multi-operator:$name" & done
  wait
  for name in kubelet kube-controller-manager kube-scheduler kube-proxy coredns provisioner kwok; do
    kubeconfig "$name" "$STATE/kubeconfigs/$name"
  done
  kubeconfig admin "$KUBECONFIG_ADMIN"
  umask "$old_umask"
  printf '%s\n' "$NODE_IP" >"$PKI/address"
}
