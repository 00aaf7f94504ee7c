# shellcheck shell=bash
# What Argo CD is in the API: its CRDs, its namespace, its settings, and the clusters that it knows.

ARGOCD_NAMESPACE=argocd

argocd_manifests() {
  local folder
  folder=$(module_folder argocd github.com/argoproj/argo-cd/v3) || return
  printf '%s/manifests' "$folder"
}

apply() { kubectl_admin apply --server-side --force-conflicts "$@" >/dev/null; }

# As in its own installation, without what makes Argo CD run as pods, and with the health checks and actions of this project's
# kinds, as users would include them.
settings() {
  local work=$STATE/argocd/settings from
  mkdir -p "$work"
  # kustomize takes directories by relative paths alone.
  from=$(realpath --relative-to "$work" "$SCRIPTS/../kustomize/argocd/health")
  cat >"$work/kustomization.yaml" <<KUSTOMIZATION
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: $ARGOCD_NAMESPACE
resources:
  - $(realpath --relative-to "$work" "$1/base/config")
components:
  - $from
KUSTOMIZATION
  "$STATE/bin/kustomize" build "$work"
}

install_objects() {
  local manifests
  manifests=$(argocd_manifests)
  apply --kustomize "$manifests/crds"
  poll 240 "Argo CD's kinds" api_get "/apis/argoproj.io/v1alpha1/namespaces/default/applicationsets" || die "the CRDs are not served"
  kubectl_admin create namespace "$ARGOCD_NAMESPACE" --dry-run=client --output yaml | apply --filename -
  settings "$manifests" | apply --filename -
  cluster_secrets | apply --filename -
}

# What the component monitoring has is of kinds that clusters with the prometheus-operator know.
foreign_kinds() {
  local environment
  for environment in "${ENVIRONMENTS[@]}"; do "$SCRIPTS/monitoring" crds --name "$PREFIX-$environment" >/dev/null; done
}

# No controller is left that could act on the deletion of Applications.
uninstall_objects() {
  local manifests object
  manifests=$(argocd_manifests)
  stop "${ARGOCD_PROCESSES[@]}"
  if api_get /apis/argoproj.io/v1alpha1 >/dev/null 2>&1; then
    for object in $(kubectl_admin get applications,applicationsets,appprojects --namespace "$ARGOCD_NAMESPACE" --output name); do
      kubectl_admin patch "$object" --namespace "$ARGOCD_NAMESPACE" --type=merge --patch '{"metadata":{"finalizers":null}}' >/dev/null
    done
  fi
  kubectl_admin delete --kustomize "$manifests/crds" --ignore-not-found --timeout=60s >/dev/null
  kubectl_admin delete namespace "$ARGOCD_NAMESPACE" --ignore-not-found --timeout=60s >/dev/null
}
