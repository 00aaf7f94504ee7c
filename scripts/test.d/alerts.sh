# shellcheck shell=bash
# Alerts, each fired by what it is about, in a real Prometheus.

# How many times sooner they fire than as they are shipped.
FASTER=20

alerts_cluster() {
  # That of the suite before, if it is up.
  [[ " ${STARTED[*]} " == *" $CLUSTER "* ]] || own_cluster "$CLUSTER" "${VERSION[@]}" || return
  [[ -n $OURS ]] || { say "Prometheus runs beside the cluster's own processes: this needs one of scripts/cluster's"; return 1; }
  deploy_manager && scripts/images --load "$OURS" etcd-3.6 postgres-15 postgres-17 >/dev/null &&
    scripts/monitoring up --name "$OURS" --faster "$FASTER" && eval "$(scripts/monitoring env --name "$OURS")"
}

alerts() {
  run "alerts build" cargo test "${LOCKED[@]}" --quiet -p e2e --test alerts --no-run || return
  run "alerts cluster" alerts_cluster || return
  run "alerts" suite alerts --test-threads=9 --show-output
  run "alerts off" scripts/monitoring down --name "$OURS"
}
