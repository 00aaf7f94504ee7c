# shellcheck shell=bash
# Argo CD's programs and its Redis, as processes next to the cluster's own.

ARGOCD_PROCESSES=(argocd-redis argocd-repo-server argocd-application-controller argocd-applicationset-controller argocd-server)
# Ports that nothing else in the cluster's network has; 8080 and its neighbours are OLM's.
REDIS_PORT=18079 SERVER_PORT=18080 REPO_PORT=18081

argocd_up() {
  local begin
  begin=$(now_ms)
  ensure_tools argocd argocd
  redis_program
  # One binary, whose name says what it is. By links next to the cluster's own programs, `scripts/cluster down` knows whose
  # they are.
  for program in argocd "${ARGOCD_PROCESSES[@]:1}"; do ln -sfn "$(tool argocd argocd)" "$STATE/bin/$program"; done
  connect_environments
  install_objects
  say "  CRDs and settings of Argo CD $(family_version argocd) are there after $(since "$begin")"
  if [[ $LOCAL == yes ]]; then
    environment_images
    foreign_kinds
    push_checkout
  fi
  start_argocd
  say "Argo CD $(family_version argocd) is up on cluster $NAME after $(since "$begin"): http://$NODE_IP:$SERVER_PORT"
}

# Debian's Redis, without the service that its package would start: the program that checks its files is the server, too,
# and knows by its name which it is to be. In the cache it is one of the cluster's programs.
redis_program() {
  local source folder
  require_programs redis-check-rdb:redis-tools
  source=$(command -v redis-check-rdb)
  folder=$CACHE/bin/redis-$(sha256sum <"$source" | cut -c1-10)
  if [[ ! -x $folder/redis-server ]]; then
    mkdir -p "$folder"
    cp --dereference "$source" "$folder/.redis-server.$$"
    mv "$folder/.redis-server.$$" "$folder/redis-server"
  fi
  ln -sfn "$folder/redis-server" "$STATE/bin/redis-server"
}

# argo NAME OPTION...: one of its programs. The API server's in-cluster address means the kubeconfig's here. What it would
# keep in fixed places of a container goes into the cluster's directory. Its clients trust the repo-server's own certificate.
argo() {
  local name=$1 data=$STATE/argocd
  shift
  start "$name" env KUBECONFIG="$KUBECONFIG_ADMIN" HOSTNAME="$name-0" TMPDIR="$data/tmp" \
    ARGOCD_FAKE_IN_CLUSTER=true ARGOCD_GPG_ENABLED=false ARGOCD_SYNC_WAVE_DELAY=1 \
    ARGOCD_TLS_DATA_PATH="$data/tls" ARGOCD_SSH_DATA_PATH="$data/ssh" ARGOCD_PLUGINSOCKFILEPATH="$data/plugins" \
    ARGOCD_GNUPGHOME="$data/gpg/keys" ARGOCD_GPG_DATA_PATH="$data/gpg/source" \
    "$STATE/bin/$name" "$@" --logformat text
}

# Changes in git are polled every 10 s instead of every 2 minutes, and drift as often as by default.
start_argocd() {
  local clients=(--redis "127.0.0.1:$REDIS_PORT" --repo-server "127.0.0.1:$REPO_PORT")
  mkdir -p "$STATE/argocd"/{tmp,tls,ssh,plugins,gpg/keys,gpg/source,redis}
  start argocd-redis "$STATE/bin/redis-server" --bind 127.0.0.1 --port "$REDIS_PORT" --save '' --appendonly no --dir "$STATE/argocd/redis"
  # It creates the key that all of them read from argocd-secret. Clients on this network are administrators of the cluster anyway,
  # as the processes in it are.
  argo argocd-server "${clients[@]}" --disable-auth --insecure --address "$NODE_IP" --port "$SERVER_PORT" \
    --metrics-address 127.0.0.1 --metrics-port 18083 --dex-server http://127.0.0.1:5556 --staticassets "$STATE/argocd/tmp" \
    --kubeconfig "$KUBECONFIG_ADMIN" --namespace "$ARGOCD_NAMESPACE"
  argo argocd-repo-server --address 127.0.0.1 --port "$REPO_PORT" --metrics-address 127.0.0.1 --metrics-port 18084 \
    --redis "127.0.0.1:$REDIS_PORT"
  answers argocd-server "http://$NODE_IP:$SERVER_PORT/healthz"
  answers argocd-repo-server http://127.0.0.1:18084/healthz
  argo argocd-application-controller "${clients[@]}" --metrics-port 18082 --app-resync 10 --app-resync-jitter 0 \
    --kubeconfig "$KUBECONFIG_ADMIN" --namespace "$ARGOCD_NAMESPACE" --persist-resource-health
  argo argocd-applicationset-controller --argocd-repo-server "127.0.0.1:$REPO_PORT" --enable-progressive-syncs \
    --metrics-addr 127.0.0.1:18085 --probe-addr 127.0.0.1:18086 --webhook-addr 127.0.0.1:18087 \
    --kubeconfig "$KUBECONFIG_ADMIN" --namespace "$ARGOCD_NAMESPACE"
  answers argocd-application-controller http://127.0.0.1:18082/healthz
  answers argocd-applicationset-controller http://127.0.0.1:18085/metrics
}

# answers NAME URL
answers() {
  poll 120 "$1" inside curl -fsS --max-time 2 --output /dev/null "$2" || die "its log: scripts/cluster logs $1 --name $NAME"
}

argocd_down() {
  local begin program
  begin=$(now_ms)
  uninstall_objects
  for program in argocd redis-server "${ARGOCD_PROCESSES[@]}"; do rm -f "$STATE/bin/$program"; done
  rm -rf "$STATE/argocd"
  say "Argo CD is off cluster $NAME after $(since "$begin")"
}

argocd_status() {
  local program pid well=yes
  for program in "${ARGOCD_PROCESSES[@]}"; do
    if pid=$(pid_of "$program"); then
      printf '%-34s running, pid %s\n' "$program" "$pid"
    else
      printf '%-34s NOT RUNNING (scripts/cluster logs %s --name %s)\n' "$program" "$program" "$NAME"
      well=no
    fi
  done
  if api_get /apis/argoproj.io/v1alpha1 >/dev/null 2>&1; then
    kubectl_admin get applicationsets,applications --namespace "$ARGOCD_NAMESPACE"
  else
    printf '%-34s NO (scripts/argocd up --name %s)\n' "in the API" "$PREFIX"
    well=no
  fi
  [[ $well == yes ]]
}

# KUBECONFIG is the first environment's; each one's has a name of its own.
argocd_env() {
  local environment
  for environment in "${ENVIRONMENTS[@]}"; do
    use_environment "$environment"
    printf 'export MULTI_OPERATOR_GITOPS_%s=%q\n' "${environment^^}" "$KUBECONFIG_ADMIN"
  done
  use_home
  printf 'export %s=%q\n' KUBECONFIG "$KUBECONFIG_ADMIN" MULTI_OPERATOR_CLUSTER "$NAME" \
    MULTI_OPERATOR_AUDIT_LOG "$STATE/audit.log" MULTI_OPERATOR_ARGOCD "$NODE_IP:$SERVER_PORT" \
    MULTI_OPERATOR_GIT "$(repository)" MULTI_OPERATOR_NEXT_DIGEST "$(cat "$STATE/argocd/next-digest" 2>/dev/null || true)"
  # shellcheck disable=SC2016
  printf 'export PATH=%q:$PATH\n' "$STATE/bin"
}
