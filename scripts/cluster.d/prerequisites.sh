# shellcheck shell=bash
# What the machine must be, and what is installed on it when missing.

ANY_CLUSTER="To use a cluster you have instead, set KUBECONFIG: nothing else here needs this one."

require_machine() {
  [[ $(uname -s) == Linux ]] || die "scripts/cluster runs a node's processes and needs Linux. $ANY_CLUSTER"
  [[ $(uname -m) == x86_64 ]] || die "scripts/cluster needs x86_64, and this is $(uname -m). $ANY_CLUSTER"
  [[ $(id -u) == 0 ]] || die "scripts/cluster makes network namespaces, mounts and cgroups and needs root. $ANY_CLUSTER"
}

require_go() {
  command -v go >/dev/null || die "Kubernetes, kustomize and the bundle's validators are built from their Go modules: Go 1.26 or newer is needed. $ANY_CLUSTER"
}

# require_programs PROGRAM:PACKAGE...: installs the Debian packages of those programs that are missing.
require_programs() {
  local missing
  missing=$(missing_packages "$@")
  [[ -n $missing ]] || return 0
  command -v apt-get >/dev/null || die "missing: $missing (names of Debian packages), and there is no apt-get to install them"
  mkdir -p "$CACHE/log"
  # Builds run side by side, and apt refuses a second run of itself.
  (
    flock 5
    missing=$(missing_packages "$@")
    [[ -n $missing ]] || exit 0
    say "installing Debian packages: $missing"
    local start reason
    start=$(now_ms)
    # shellcheck disable=SC2086
    apt_install $missing || {
      # An earlier run may have been stopped half-way, and the package lists may be missing or too old. Of several
      # repositories, one that none of these is from may be down.
      dpkg --configure -a </dev/null >"$APT_LOG" 2>&1 || true
      apt_run update || true
      reason=$(apt_error)
      apt_install $missing || die "could not install $missing: ${reason:-$(apt_error)} (log: $APT_LOG)"
    }
    say "installed in $(since "$start")"
  ) 5>"$CACHE/log/apt.lock" || exit 1
}

# missing_packages PROGRAM:PACKAGE...
missing_packages() {
  local pair program package missing=()
  for pair in "$@"; do
    program=${pair%%:*} package=${pair##*:}
    [[ $program == /* && -e $program ]] && continue
    PATH=$PATH:/usr/sbin:/sbin command -v "$program" >/dev/null && continue
    [[ " ${missing[*]} " == *" $package "* ]] || missing+=("$package")
  done
  printf '%s' "${missing[*]}"
}

APT_LOG=$CACHE/log/apt.log

apt_install() { apt_run install --no-install-recommends "$@"; }

# Waits for another apt of the machine, such as the daily upgrade. Services that packages start do not inherit the scripts' locks.
apt_run() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 "$@" \
    </dev/null >"$APT_LOG" 2>&1 5>&- 8>&- 9>&-
}

apt_error() { sed -n 's/^[EW]: //p' "$APT_LOG" | head -n 1; }

# Go and cargo trust the authorities in this file.
CERTIFICATES=/etc/ssl/certs/ca-certificates.crt

# The programs of each part. scripts/demo installs all at once, the others what they come to need.
BASE_PROGRAMS=(ip:iproute2 openssl:openssl curl:curl flock:util-linux mount:mount "$CERTIFICATES:ca-certificates")
NODE_PROGRAMS=(runc:runc /usr/lib/cni/bridge:containernetworking-plugins nft:nftables iptables:iptables conntrack:conntrack
  socat:socat gcc:gcc /usr/include/stdlib.h:libc6-dev mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs)
# Crates with C in them are compiled with gcc, and etcd's client is generated from its protocol files.
RUST_PROGRAMS=(gcc:gcc /usr/include/stdlib.h:libc6-dev protoc:protobuf-compiler
  /usr/include/google/protobuf/any.proto:libprotobuf-dev "$CERTIFICATES:ca-certificates")
# shellcheck disable=SC2034
DEBIAN_PROGRAMS=(mmdebstrap:mmdebstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring)
# Checks ask git which files there are.
# shellcheck disable=SC2034
CHECK_PROGRAMS=("${RUST_PROGRAMS[@]}" git:git)
# The tests send signals with kill(1), mount file systems, and read the history of the checkout.
# shellcheck disable=SC2034
TEST_PROGRAMS=("${RUST_PROGRAMS[@]}" curl:curl git:git /bin/kill:procps mount:mount)

require_base_packages() { require_programs "${BASE_PROGRAMS[@]}"; }

require_node_packages() { require_programs "${NODE_PROGRAMS[@]}"; }
