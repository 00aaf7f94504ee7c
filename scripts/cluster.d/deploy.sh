# shellcheck shell=bash
# The manager in a cluster: which cluster, its images, its manifests. For scripts/test and scripts/demo, one of which continues
# after failures: so nothing here relies on errexit.

SYSTEM=multi-operator-system
MANAGER=deployment/multi-operator-manager

# use_cluster NAME OPTION...: the cluster of KUBECONFIG if that is set, else the local one NAME, started with these options. Sets
# OURS to the name of a cluster that images can be loaded into, empty if it is none of scripts/cluster's.
use_cluster() {
  local name=$1 environment said
  if [[ -n ${KUBECONFIG:-} ]]; then
    OURS=${MULTI_OPERATOR_CLUSTER:-}
    [[ -n $OURS && $KUBECONFIG == "$CACHE/clusters/$OURS/kubeconfig" ]] || OURS=''
    say "using the cluster of KUBECONFIG ($KUBECONFIG)${OURS:+, which is the local $OURS}"
  else
    "$SCRIPTS/cluster" up --name "$@" || die "no cluster to work on"
    environment=$("$SCRIPTS/cluster" env --name "$name") || die "no cluster to work on"
    eval "$environment"
    OURS=$name
  fi
  command -v kubectl >/dev/null || die "kubectl is needed to use the cluster of KUBECONFIG"
  said=$(kubectl version 2>&1) || die "the cluster of KUBECONFIG ($KUBECONFIG) does not answer: ${said##*$'\n'}"
}

# The images into the cluster, the manifests, and the manager ready.
deploy_manager() {
  if [[ -n $OURS ]]; then
    "$SCRIPTS/images" --load "$OURS" nginx manager >/dev/null || return 1
  else
    say "its nodes must have localhost/multi-operator:dev (scripts/images manager makes a tar; for kind: kind load image-archive)," \
      "and nginx:1.25 and nginx:1.26 must be there or be pulled"
  fi
  install_manager
}

# The manifests, and the manager ready. Safe to repeat: a manager that is there is replaced, since its image may have
# changed under the same tag.
install_manager() {
  local there=no
  kubectl get "$MANAGER" --namespace "$SYSTEM" >/dev/null 2>&1 && there=yes
  # An administrator may have scaled the manager meanwhile.
  kubectl apply --server-side --force-conflicts --kustomize "$SCRIPTS/../kustomize/overlays/dev" | sed 's/^/  /' >&2 || return 1
  await_crds kubectl crd/{myapps,samples,sampledbs,sampledbsnapshots}.example.com \
    crd/{etcdbackups,etcdclusters,etcdrestores}.etcd.database.coreos.com || return 1
  [[ $there == no ]] || kubectl rollout restart "$MANAGER" --namespace "$SYSTEM" >/dev/null || return 1
  kubectl rollout status "$MANAGER" --namespace "$SYSTEM" --timeout=180s >/dev/null || {
    manager_log
    say "the manager did not get ready"
    return 1
  }
}

manager_log() {
  say "--- the end of the manager's log"
  kubectl logs "$MANAGER" --namespace "$SYSTEM" --tail=60 >&2 || true
  say "---"
}
