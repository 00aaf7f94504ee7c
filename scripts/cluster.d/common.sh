# shellcheck shell=bash
# What every piece shares: where things live, and how to speak.

SCRIPTS=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CACHE=${MULTI_OPERATOR_CACHE:-${HOME:-/var}/.cache/multi-operator}
DEFAULT_KUBERNETES=1.36.3

say() { printf '%s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

now_ms() { date +%s%3N; }

# "12.3 s" since a time from now_ms.
since() {
  local ms=$(($(now_ms) - $1))
  printf '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# poll SECONDS WHAT COMMAND...: until the command succeeds; fails, saying what it waited for, when the time is up.
poll() {
  local limit=$1 what=$2 start
  shift 2
  start=$(now_ms)
  until "$@" >/dev/null 2>&1; do
    if (($(now_ms) - start > limit * 1000)); then
      say "gave up waiting for $what after $limit s"
      return 1
    fi
    sleep 0.1
  done
}

# await_crds KUBECTL CRD...: waits until the API server serves these; KUBECTL runs kubectl. `kubectl wait` alone fails for a CRD
# that is so new that it has no conditions.
await_crds() { poll 60 "these CRDs to be served: ${*:2}" "$1" wait --for=condition=Established --timeout=5s "${@:2}"; }

# reason_in LOG: what it says went wrong, in one line.
reason_in() {
  local line
  if grep -qiE 'no space left on device|enough free space' "$1"; then
    printf 'the disk is full'
  elif line=$(grep -iE -m 1 "no such host|could not resolve|temporary failure|network is unreachable|connection (refused|reset|timed out)|dial tcp|i/o timeout|tls handshake|failed to (fetch|download)|proxyconnect" "$1"); then
    printf 'a download failed: %s' "$line"
  else
    line=$(grep -E '^ *(error|fatal|E:)' "$1" | tail -n 1)
    line=${line:-$(tail -n 1 "$1")}
    printf '%s' "${line#error: }"
  fi
}

# Everything a cluster owns is found from its name alone.
#   STATE    certificates, data, logs, process ids: as big as it gets, deleted by `down`
#   RUN      sockets and what must not outlive a restart of the machine: short paths (a socket's may have 107 characters)
#   NETNS    its network namespace
set_cluster_paths() {
  NAME=$1
  [[ $NAME =~ ^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$ ]] ||
    die "--name '$NAME': up to 20 lower-case letters, digits and hyphens, starting and ending with a letter or digit"
  STATE=$CACHE/clusters/$NAME
  RUN_ROOT=/run/multi-operator
  RUN=$RUN_ROOT/$NAME
  NETNS=mo-$NAME
  NODE=$NAME-node
  CGROUP=multi-operator/$NAME
  LOGS=$STATE/logs
  KUBECONFIG_ADMIN=$STATE/kubeconfig
  # The longest socket in the state directory is kubelet's pod-resources/kubelet.sock.
  ((${#STATE} <= 72)) || die "the directory $STATE has too long a path for the sockets in it: set MULTI_OPERATOR_CACHE to a shorter one"
}

# A file of `key=value` lines says what the running cluster is: name, profile, version, address.
read_setting() { sed -n "s/^$1=//p" "$STATE/settings" 2>/dev/null || true; }

lock_cluster() {
  mkdir -p "$RUN_ROOT"
  exec 9>"$RUN_ROOT/$NAME.lock"
  if ! flock --nonblock 9; then
    say "another scripts/cluster is at work on $NAME: waiting"
    flock 9
  fi
}
