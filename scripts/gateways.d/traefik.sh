# shellcheck shell=bash
# Traefik as a process next to the cluster's own.

# Where its token is.
TRAEFIK_FOLDER=traefik
TRAEFIK_OBJECTS=$SCRIPTS/gateways.d/traefik.yaml
GATEWAY_CLASS=$SCRIPTS/gateways.d/gateway-class.yaml
# For health checks: a port that no listener may name.
TRAEFIK_PING_PORT=9000

# The standard channel, of the version that Traefik is built with.
gateway_crds() {
  local folder
  folder=$(module_folder traefik sigs.k8s.io/gateway-api) || return
  printf '%s/config/crd/standard' "$folder"
}

traefik_up() {
  local begin crds
  begin=$(now_ms)
  ensure_tools traefik traefik
  crds=$(gateway_crds)
  # Server-side: they are too large for the annotation that other applies keep.
  kubectl_admin apply --server-side --force-conflicts --filename "$crds" >&2
  # Those that Traefik watches: it serves no Gateway unless it can list all of them.
  await_crds kubectl_admin \
    crd/{gatewayclasses,gateways,httproutes,grpcroutes,tlsroutes,referencegrants,backendtlspolicies}.gateway.networking.k8s.io
  kubectl_admin apply --server-side --force-conflicts --filename "$TRAEFIK_OBJECTS" --filename "$GATEWAY_CLASS" >&2
  start_traefik
  poll 120 "Traefik" serves || die "its log: scripts/cluster logs traefik --name $NAME"
  say "Traefik $(family_version traefik) serves Ingresses and Gateways of the class traefik at $NODE_IP, ports 80 and 443," \
    "after $(since "$begin")"
}

# Restarted each time: one that runs in a network namespace from before a repair of the cluster is unreachable, and tokens expire.
start_traefik() {
  local folder=$STATE/$TRAEFIK_FOLDER token provider flags=()
  stop traefik
  mkdir -p "$folder"
  token=$(kubectl_admin create token traefik --namespace traefik --duration=24h)
  # Without an end of line: Traefik sends what is in the file.
  (umask 077 && printf '%s' "$token" >"$folder/token")
  for provider in kubernetesingress kubernetesgateway; do
    flags+=("--providers.$provider.endpoint=https://$NODE_IP:6443" "--providers.$provider.token=$folder/token"
      "--providers.$provider.certauthfilepath=$STATE/pki/ca.crt")
  done
  # By a link next to the cluster's own programs, `scripts/cluster down` knows whose it is.
  ln -sfn "$(tool traefik traefik)" "$STATE/bin/traefik"
  # An Ingress and a Gateway get the address, which elsewhere is a load balancer's. Paths of Ingresses are matched as Kubernetes
  # says, by complete elements, which Traefik does only with this option.
  start traefik "$STATE/bin/traefik" --global.checknewversion=false --global.sendanonymoususage=false --log.level=INFO --log.nocolor=true \
    --entrypoints.web.address="$NODE_IP:80" --entrypoints.websecure.address="$NODE_IP:443" --entrypoints.websecure.http.tls=true \
    --entrypoints.traefik.address="$NODE_IP:$TRAEFIK_PING_PORT" --ping=true --ping.entrypoint=traefik \
    --providers.kubernetesingress.strictprefixmatching=true --providers.kubernetesingress.ingressendpoint.ip="$NODE_IP" \
    --providers.kubernetesgateway.statusaddress.ip="$NODE_IP" "${flags[@]}"
}

# It runs, and has taken the class of Gateways for its own.
serves() {
  is_running traefik && curl -fsS --max-time 2 "http://$NODE_IP:$TRAEFIK_PING_PORT/ping" >/dev/null &&
    kubectl_admin wait --for=condition=Accepted --timeout=2s gatewayclass/traefik >/dev/null
}

traefik_status() {
  serves || die "Traefik does not serve on cluster $NAME: scripts/gateways up --name $NAME"
  say "Traefik serves Ingresses and Gateways of the class traefik at $NODE_IP, ports 80 and 443"
}

traefik_down() {
  local crds
  stop traefik
  crds=$(gateway_crds)
  kubectl_admin delete --ignore-not-found --filename "$TRAEFIK_OBJECTS" >&2
  kubectl_admin delete --ignore-not-found --filename "$crds" >&2
  rm -rf "${STATE:?}/$TRAEFIK_FOLDER" "$STATE/bin/traefik"
  say "cluster $NAME has no ways in"
}
