# shellcheck shell=bash
# The component delete-protection, as the API server enforces it: the overlay production is applied.

refused() {
  local said
  ! said=$(kubectl delete "$@" --dry-run=server 2>&1) || die "delete-protection lets kubectl delete $* pass: $said"
  [[ $said == *'is not allowed here'*'multi-operator.example.com/allow-deletion=true'* ]] || die "kubectl delete $* is refused for another reason: $said"
}

passes() {
  local said
  said=$(kubectl delete "$@" --timeout=60s 2>&1) || die "delete-protection is in the way of kubectl delete $*: $said"
}

delete_protection() {
  local namespace=check-protection manager=(--as system:serviceaccount:multi-operator-system:multi-operator-manager --as-group system:masters)
  kubectl create namespace "$namespace" >/dev/null
  kubectl apply --namespace "$namespace" --kustomize config/samples >/dev/null
  # The API server takes a moment to apply a new policy.
  poll 30 "the policies to be heeded" policies_heeded "$namespace" || die "delete-protection refuses nothing"
  refused --namespace "$namespace" sampledb example-database
  refused --namespace "$namespace" sampledbsnapshots --all
  refused --namespace "$namespace" etcdcluster example-etcd-cluster
  refused crd sampledbs.example.com
  refused namespace production
  passes --namespace "$namespace" myapps,samples --all
  kubectl annotate --namespace "$namespace" etcdcluster example-etcd-cluster multi-operator.example.com/allow-deletion=true >/dev/null
  passes --namespace "$namespace" etcdcluster example-etcd-cluster
  # What the manager deletes, and the cluster itself: what an owner leaves, and a namespace's objects.
  passes --namespace "$namespace" sampledbsnapshot example-database-by-hand "${manager[@]}"
  owned_goes "$namespace"
  passes namespace "$namespace"
  kubectl annotate namespace production multi-operator.example.com/allow-deletion=true >/dev/null
  passes namespace production
  say "delete-protection refuses databases, snapshots, etcd clusters, CRDs and the namespace with the label; and lets pass what is" \
    "annotated, the manager, garbage collection and the end of a namespace"
}

policies_heeded() {
  ! kubectl delete --dry-run=server --namespace "$1" sampledb example-database && ! kubectl delete --dry-run=server crd sampledbs.example.com &&
    ! kubectl delete --dry-run=server namespace production
}

owned_goes() {
  local uid
  kubectl create configmap owner --namespace "$1" >/dev/null
  uid=$(kubectl get configmap owner --namespace "$1" --output=jsonpath='{.metadata.uid}')
  kubectl patch sampledb example-database --namespace "$1" --type=merge \
    --patch "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\",\"uid\":\"$uid\"}]}}" >/dev/null
  kubectl delete configmap owner --namespace "$1" >/dev/null
  kubectl wait --for=delete sampledb/example-database --namespace "$1" --timeout=60s >/dev/null 2>&1 ||
    die "delete-protection is in the way of garbage collection"
}
