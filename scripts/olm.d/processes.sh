# shellcheck shell=bash
# OLM's two operators and the catalog's server, as processes next to the cluster's own.

OLM_PROCESSES=(olm catalog opm)
CATALOG_PORT=50051
CATALOG_SOURCE=multi-operator-catalog

olm_up() {
  local begin
  begin=$(now_ms)
  ensure_tools olm olm catalog opm
  # By links next to the cluster's own programs, `scripts/cluster down` knows whose they are.
  for program in "${OLM_PROCESSES[@]}"; do ln -sfn "$(tool olm "$program")" "$STATE/bin/$program"; done
  install_objects
  say "  CRDs of OLM $(family_version olm) are there after $(since "$begin")"
  start_operators
  [[ -z $CATALOG ]] || serve_catalog "$CATALOG"
  [[ $LOCAL == no ]] || serve_catalog_image "$CATALOG.bundles"
  say "OLM $(family_version olm) is up on cluster $NAME after $(since "$begin")"
}

# Neither sees the caller's environment: with CI set, OLM panics over objects that it creates without a label, and a proxy would
# get the requests for the catalog. olm has no flag for its kubeconfig. Both listen on port 8080, which only one of them needs: so
# one gets a certificate, and listens on 8443. catalog connects to the pods of catalogs by their Services' names, which the
# cluster's own name server knows.
start_operators() {
  local pki=$STATE/pki
  start olm env KUBECONFIG="$KUBECONFIG_ADMIN" "$STATE/bin/olm" --namespace "$OLM_NAMESPACE" --interval 30s \
    --writeStatusName "" --writePackageServerStatusName ""
  printf 'nameserver %s\nsearch cluster.local\noptions ndots:5\n' "$NODE_IP" >"$STATE/olm-resolv.conf"
  # shellcheck disable=SC2016
  start catalog unshare --mount sh -c 'mount --bind "$0" /etc/resolv.conf && exec "$@"' "$STATE/olm-resolv.conf" \
    "$STATE/bin/catalog" --opmImage "$OPM_IMAGE" --util-image "$OLM_UTIL_IMAGE" --set-workload-user-id=true --kubeconfig "$KUBECONFIG_ADMIN" --namespace "$OLM_NAMESPACE" --interval 30s \
    --install-plan-retry-timeout 1m --tls-cert "$pki/apiserver.crt" --tls-key "$pki/apiserver.key"
  poll 120 "olm" inside curl -fsS --max-time 2 http://127.0.0.1:8080/healthz || die "its log: scripts/cluster logs olm --name $NAME"
  poll 120 "catalog" inside curl -fsSk --max-time 2 https://127.0.0.1:8443/healthz || die "its log: scripts/cluster logs catalog --name $NAME"
}

# serve_catalog DIRECTORY: a copy of it, since a server reads it once, and people go on editing. Another content starts the
# server again, which OLM notices.
serve_catalog() {
  local folder=$STATE/olm/catalog digest
  digest=$(cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
  if ! is_running opm || [[ $(cat "$STATE/olm/digest" 2>/dev/null) != "$digest" ]]; then
    stop opm
    # Its state for the previous catalog says nothing about this one.
    forget_catalog "$CATALOG_SOURCE"
    rm -rf "$STATE/olm"
    mkdir -p "$STATE/olm"
    cp -R "$1" "$folder"
    "$(tool olm opm)" validate "$folder" || die "opm rejects the catalog in $1"
    start opm "$STATE/bin/opm" serve "$folder" --port "$CATALOG_PORT" --cache-dir "$STATE/olm/cache" \
      --cache-enforce-integrity=false --pprof-addr "" --termination-log "$STATE/olm/termination.log"
    poll 120 "opm to serve" inside bash -c "</dev/tcp/127.0.0.1/$CATALOG_PORT" || die "its log: scripts/cluster logs opm --name $NAME"
    printf '%s\n' "$digest" >"$STATE/olm/digest"
  fi
  catalog_source
  poll 240 "OLM to read the catalog" catalog_is_read "$CATALOG_SOURCE" || die "its log: scripts/cluster logs catalog --name $NAME"
}

olm_down() {
  local begin
  begin=$(now_ms)
  uninstall_objects
  for program in "${OLM_PROCESSES[@]}"; do rm -f "$STATE/bin/$program"; done
  rm -rf "$STATE/olm"
  say "OLM is off cluster $NAME after $(since "$begin")"
}

olm_status() {
  local program pid well=yes
  for program in "${OLM_PROCESSES[@]}"; do
    if pid=$(pid_of "$program"); then
      printf '%-26s running, pid %s\n' "$program" "$pid"
    elif [[ $program == opm && ! -e $STATE/olm ]]; then
      printf '%-26s serves no catalog\n' "$program"
    else
      printf '%-26s NOT RUNNING (scripts/cluster logs %s --name %s)\n' "$program" "$program" "$NAME"
      well=no
    fi
  done
  if api_get /apis/operators.coreos.com/v1alpha1 >/dev/null 2>&1; then
    kubectl_admin get catalogsources,subscriptions,installplans,clusterserviceversions --all-namespaces
  else
    printf '%-26s NO (scripts/olm up --name %s)\n' "in the API" "$NAME"
    well=no
  fi
  [[ $well == yes ]]
}
