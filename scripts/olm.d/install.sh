# shellcheck shell=bash
# What OLM is in the API: its CRDs, its settings, its namespaces, and the OperatorGroup of operators for all namespaces.

OLM_NAMESPACE=olm
OPERATORS_NAMESPACE=operators

# The module's own charts. (What lies in its deploy/upstream/quickstart is of another version.)
olm_crds() {
  local folder
  folder=$(module_folder olm github.com/operator-framework/operator-lifecycle-manager) || return
  printf '%s/deploy/chart/crds' "$folder"
}

# As in OLM's own installation, without what makes OLM run as pods.
olm_objects() {
  cat <<OBJECTS
apiVersion: v1
kind: Namespace
metadata: {name: $OLM_NAMESPACE}
---
apiVersion: v1
kind: Namespace
metadata: {name: $OPERATORS_NAMESPACE}
---
apiVersion: operators.coreos.com/v1
kind: OLMConfig
metadata: {name: cluster}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: global-operators, namespace: $OPERATORS_NAMESPACE}
spec: {}
OBJECTS
}

apply() { kubectl_admin apply --server-side --force-conflicts "$@" >/dev/null; }

install_objects() {
  local crds
  crds=$(olm_crds)
  apply --filename "$crds"
  await_crds kubectl_admin --filename "$crds"
  olm_objects | apply --filename -
}

# The CatalogSource has an address instead of an image: OLM creates no pod for it, and connects to that address.
catalog_source() {
  apply --filename - <<OBJECT
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: $CATALOG_SOURCE, namespace: $OLM_NAMESPACE}
spec:
  sourceType: grpc
  address: 127.0.0.1:$CATALOG_PORT
  displayName: multi-operator
  publisher: multi-operator
OBJECT
}

forget_catalog() { kubectl_admin delete catalogsource "$1" --namespace "$OLM_NAMESPACE" --ignore-not-found >/dev/null; }

# catalog_is_read NAME
catalog_is_read() {
  [[ $(kubectl_admin get catalogsource "$1" --namespace "$OLM_NAMESPACE" \
    --output 'jsonpath={.status.connectionState.lastObservedState}') == READY ]]
}

# Installed operators first, while OLM is there to clear up after them; custom resources of theirs are not touched.
uninstall_objects() {
  local crds
  kubectl_admin delete subscriptions,clusterserviceversions --all-namespaces --all --timeout=60s >/dev/null 2>&1 || true
  stop "${OLM_PROCESSES[@]}"
  crds=$(olm_crds)
  # No controller is left that could remove OLM's finalizers.
  kubectl_admin delete namespace "$OLM_NAMESPACE" "$OPERATORS_NAMESPACE" --ignore-not-found --wait=false >/dev/null
  kubectl_admin delete --filename "$crds" --ignore-not-found --timeout=60s >/dev/null
  kubectl_admin wait --for=delete --timeout=60s namespace/"$OLM_NAMESPACE" namespace/"$OPERATORS_NAMESPACE" >/dev/null
}
