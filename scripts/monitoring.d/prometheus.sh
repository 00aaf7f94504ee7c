# shellcheck shell=bash
# Prometheus as a process next to the cluster's own.

PROMETHEUS_FOLDER=prometheus
# As kube-prometheus calls them; the component binds the permissions to it.
PROMETHEUS_NAMESPACE=monitoring
PROMETHEUS_ACCOUNT=prometheus-k8s

render_monitoring() {
  ensure_tools kustomize kustomize
  ensure_tools ours monitoring
  "$(tool kustomize kustomize)" build "$SCRIPTS/../config/prometheus"
}

# The operator's module has its CRDs.
crds_folder() {
  local folder
  folder=$(module_folder ours github.com/prometheus-operator/prometheus-operator) || return
  printf '%s/example/prometheus-operator-crd' "$folder"
}

# Server-side: the CRD of Prometheus is too large for the annotation that other applies keep.
apply_crds() {
  local folder
  folder=$(crds_folder)
  kubectl_admin apply --server-side --force-conflicts \
    --filename "$folder/monitoring.coreos.com_servicemonitors.yaml" --filename "$folder/monitoring.coreos.com_prometheusrules.yaml" >&2
  await_crds kubectl_admin crd/servicemonitors.monitoring.coreos.com crd/prometheusrules.monitoring.coreos.com
}

prometheus_up() {
  local folder=$STATE/$PROMETHEUS_FOLDER monitoring rendered
  ensure_tools prometheus prometheus promtool
  apply_crds
  mkdir -p "$folder/serviceaccount" "$folder/data"
  rendered=$folder/rendered.yaml
  render_monitoring >"$rendered"
  kubectl_admin create namespace "$PROMETHEUS_NAMESPACE" --dry-run=client --output=yaml | kubectl_admin apply --filename - >&2
  kubectl_admin create serviceaccount "$PROMETHEUS_ACCOUNT" --namespace "$PROMETHEUS_NAMESPACE" --dry-run=client --output=yaml |
    kubectl_admin apply --filename - >&2
  kubectl_admin apply --server-side --force-conflicts --filename "$rendered" >&2
  (umask 077 && kubectl_admin create token "$PROMETHEUS_ACCOUNT" --namespace "$PROMETHEUS_NAMESPACE" --duration=24h >"$folder/serviceaccount/token")
  cp "$STATE/pki/ca.crt" "$folder/serviceaccount/ca.crt"
  printf '%s' "$PROMETHEUS_NAMESPACE" >"$folder/serviceaccount/namespace"
  monitoring=$(tool ours monitoring)
  "$monitoring" rules --faster "$FASTER" --ages "$((FASTER == 1 ? 1 : FASTER * 50))" <"$rendered" >"$folder/rules.yaml"
  "$monitoring" scrape --faster "$FASTER" --rules "$folder/rules.yaml" <"$rendered" >"$folder/prometheus.yml"
  "$(tool prometheus promtool)" check config --syntax-only "$folder/prometheus.yml" >&2
  start_prometheus "$folder"
}

# A pod would have its service account's directory mounted where the configuration says. So does this process: in a mount
# namespace of its own, in which /var/run holds nothing else.
start_prometheus() {
  local folder=$1
  stop prometheus
  ln -sfn "$(tool prometheus prometheus)" "$STATE/bin/prometheus"
  # shellcheck disable=SC2016
  start prometheus env KUBERNETES_SERVICE_HOST="$NODE_IP" KUBERNETES_SERVICE_PORT=6443 GOMEMLIMIT=400MiB \
    unshare --mount sh -c 'mount -t tmpfs -o mode=0700 tmpfs /var/run && mkdir -p /var/run/secrets/kubernetes.io &&
      ln -s "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"' "$folder/serviceaccount" \
    "$STATE/bin/prometheus" --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/data" \
    --storage.tsdb.retention.time=1d --web.listen-address="$NODE_IP:9090"
  poll 240 "Prometheus" curl -fsS --max-time 2 "$URL/-/ready" || die "its log: scripts/cluster logs prometheus --name $NAME"
  poll 240 "the manager's metrics" scrapes || die "it reads no metrics: $URL/targets, scripts/cluster logs prometheus --name $NAME"
  say "Prometheus is up at $URL, $FASTER times as fast as shipped"
}

scrapes() {
  curl -fsS --max-time 5 "$URL/api/v1/query" --data-urlencode 'query=up{job="multi-operator-metrics"} == 1' | grep -q '"value"'
}

prometheus_status() {
  is_running prometheus || die "Prometheus does not run: scripts/monitoring up --name $NAME"
  scrapes || die "Prometheus runs, and reads no metrics of the manager"
  say "Prometheus runs at $URL, and reads the manager's metrics"
}

prometheus_down() {
  stop prometheus
  [[ ! -s $STATE/$PROMETHEUS_FOLDER/rendered.yaml ]] ||
    kubectl_admin delete --ignore-not-found --filename "$STATE/$PROMETHEUS_FOLDER/rendered.yaml" >&2
  kubectl_admin delete --ignore-not-found crd servicemonitors.monitoring.coreos.com prometheusrules.monitoring.coreos.com >&2
  kubectl_admin delete --ignore-not-found namespace "$PROMETHEUS_NAMESPACE" >&2
  rm -rf "${STATE:?}/$PROMETHEUS_FOLDER" "$STATE/bin/prometheus"
}
