# shellcheck shell=bash
# One certificate authority a cluster, and a certificate and kubeconfig for each component, named as RBAC expects them.

# new_certificate FILE OPTIONS...: key and certificate at once, without the machine's openssl.cnf, which would add extensions of
# its own. The certificate gets its name only when complete, so a later run repeats one that was killed half-way.
new_certificate() {
  local file=$PKI/$1
  shift
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -config "$PKI/openssl.cnf" -keyout "$file.key" -out "$file.crt.new" "$@" 2>"$file.error" || return
  mv "$file.crt.new" "$file.crt"
  rm -f "$file.error"
}

# certificate NAME SUBJECT [SUBJECT-ALT-NAMES [AUTHORITY]]: for a client and, with names, a server.
certificate() {
  local name=$1 subject=$2 names=${3:-} authority=$PKI/${4:-ca} extensions
  [[ -s $PKI/$name.crt ]] && return
  extensions=(-addext basicConstraints=CA:FALSE -addext keyUsage=digitalSignature)
  if [[ -n $names ]]; then
    extensions+=(-addext 'extendedKeyUsage=serverAuth,clientAuth' -addext "subjectAltName=$names")
  else
    extensions+=(-addext extendedKeyUsage=clientAuth)
  fi
  new_certificate "$name" -subj "$subject" -CA "$authority.crt" -CAkey "$authority.key" "${extensions[@]}"
}

authority() {
  [[ -s $PKI/$1.crt ]] && return
  new_certificate "$1" -subj "/CN=$NAME-$1" -addext basicConstraints=critical,CA:TRUE \
    -addext keyUsage=critical,keyCertSign,digitalSignature
}

# The key pair that signs service accounts' tokens.
token_keys() {
  [[ -s $PKI/service-accounts.pub ]] && return
  openssl ecparam -name prime256v1 -genkey -noout -out "$PKI/service-accounts.key" 2>/dev/null
  openssl ec -in "$PKI/service-accounts.key" -pubout -out "$PKI/service-accounts.pub.new" 2>/dev/null
  mv "$PKI/service-accounts.pub.new" "$PKI/service-accounts.pub"
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
    server: https://$CONTROL_PLANE_IP:6443
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

certificate_of_node() {
  certificate "kubelet$PART" "/O=system:nodes/CN=system:node:$NODE" "IP:$NODE_IP,DNS:$NODE" &
}

certificates() {
  local old_umask name
  PKI=$STATE/pki
  mkdir -p "$PKI" "$STATE/kubeconfigs"
  chmod 700 "$PKI" "$STATE/kubeconfigs"
  # Kept data may come back at another address: what carries the address is recreated.
  if [[ $(cat "$PKI/address" 2>/dev/null) != "$CONTROL_PLANE_IP" ]]; then
    rm -f "$PKI/apiserver.crt" "$PKI/kubelet.crt" "$STATE"/kubeconfigs/* "$KUBECONFIG_ADMIN"
  fi
  old_umask=$(umask)
  umask 077
  rm -f "$PKI"/*.error
  printf '[req]\ndistinguished_name=name\n[name]\n' >"$PKI/openssl.cnf"
  authority ca &
  authority front-proxy-ca &
  authority etcd-ca &
  token_keys &
  wait
  certificate apiserver /CN=kube-apiserver \
    "IP:$CONTROL_PLANE_IP,IP:$API_SERVICE,IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local" &
  certificate etcd /CN=etcd IP:127.0.0.1 etcd-ca &
  certificate etcd-client /CN=kube-apiserver "" etcd-ca &
  certificate front-proxy /CN=front-proxy-client "" front-proxy-ca &
  certificate apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client &
  certificate admin /O=system:masters/CN=admin &
  certificate kube-controller-manager /CN=system:kube-controller-manager &
  certificate kube-scheduler /CN=system:kube-scheduler &
  if [[ $PROFILE == full ]]; then
    each_node certificate_of_node
    certificate kube-proxy /CN=system:kube-proxy &
    certificate coredns /CN=system:multi-operator:coredns &
    certificate provisioner /CN=system:multi-operator:provisioner &
  else
    certificate kwok /CN=system:multi-operator:kwok &
  fi
  wait
  # What fails in the background only leaves its message.
  ! compgen -G "$PKI/*.error" >/dev/null || die "could not make certificates: $(cat "$PKI"/*.error)"
  for name in $(of_nodes kubelet) kube-controller-manager kube-scheduler kube-proxy coredns provisioner kwok; do
    [[ ! -s $PKI/$name.crt ]] || kubeconfig "$name" "$STATE/kubeconfigs/$name"
  done
  kubeconfig admin "$KUBECONFIG_ADMIN"
  umask "$old_umask"
  printf '%s\n' "$CONTROL_PLANE_IP" >"$PKI/address"
}
