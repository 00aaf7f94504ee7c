# shellcheck shell=bash
# What the machine must be, and what is installed on it when missing.

ANY_CLUSTER="To use a cluster you have instead, set KUBECONFIG: nothing else here needs this one."

require_machine() {
  [[ $(uname -s) == Linux ]] || die "scripts/cluster runs a node's processes and needs Linux. $ANY_CLUSTER"
  [[ $(uname -m) == x86_64 ]] || die "scripts/cluster is made for x86_64 and this is $(uname -m). $ANY_CLUSTER"
  [[ $(id -u) == 0 ]] || die "scripts/cluster makes network namespaces, mounts and cgroups and needs root. $ANY_CLUSTER"
}

require_go() {
  command -v go >/dev/null || die "Kubernetes, kustomize and the bundle's validators are built from their Go modules: Go 1.26 or newer is needed. $ANY_CLUSTER"
}

# require_programs PROGRAM:PACKAGE...: installs the Debian packages of those programs that are missing.
require_programs() {
  local pair program package missing=()
  for pair in "$@"; do
    program=${pair%%:*} package=${pair##*:}
    [[ $program == /* && -e $program ]] && continue
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null && continue
    missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || die "missing: ${missing[*]} (Debian's package names), and there is no apt-get to install them"
  say "installing Debian packages: ${missing[*]}"
  local start
  start=$(now_ms)
  apt_install "${missing[@]}" || {
    apt-get update -qq >&2 && apt_install "${missing[@]}" || die "could not install ${missing[*]}"
  }
  say "installed in $(since "$start")"
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" </dev/null >"$CACHE/apt.log" 2>&1
}

require_base_packages() {
  mkdir -p "$CACHE"
  require_programs ip:iproute2 openssl:openssl curl:curl flock:util-linux
}

require_node_packages() {
  require_programs runc:runc /usr/lib/cni/bridge:containernetworking-plugins nft:nftables iptables:iptables \
    conntrack:conntrack socat:socat gcc:gcc /usr/include/stdlib.h:libc6-dev
}
