# shellcheck shell=bash
# The component namespaced-watch, as RBAC has it: permissions where they were granted, and nowhere else.

# After an install for all namespaces, and the command of docs/gitops.md that revokes its permissions: applying deletes nothing.
namespaced_rights() {
  local overlay=$WORK/namespaced root
  apply kustomize/base >/dev/null
  mkdir -p "$overlay/team"
  root=$(realpath --relative-to "$overlay" kustomize)
  kubectl create namespace check-watched --dry-run=client --output=yaml | kubectl apply --server-side --filename - >/dev/null
  printf '%s\n' 'kind: Kustomization' 'namespace: check-watched' "resources: [../$root/watched-namespace]" >"$overlay/team/kustomization.yaml"
  printf '%s\n' 'kind: Kustomization' "resources: [$root/base, team]" "components: [$root/components/namespaced-watch]" \
    'configMapGenerator: [{name: multi-operator-settings, behavior: merge, literals: [WATCH_NAMESPACE=check-watched]}]' \
    >"$overlay/kustomization.yaml"
  apply "$overlay" >/dev/null
  grep -q '^  WATCH_NAMESPACE: check-watched$' "$WORK/apply.yaml" || die "namespaced-watch does not take the namespaces of an overlay"
  poll 30 "the permissions in all namespaces" may yes list pods default || die "there was no ClusterRole to delete: this shows nothing"
  eval "$(cluster_role_goes)" >/dev/null || die "the command of docs/gitops.md takes no ClusterRole away: $(cluster_role_goes)"
  poll 30 "the permissions in all namespaces to be revoked" may no list pods default ||
    die "a manager with namespaced-watch may list pods in a namespace that it does not watch"
  poll 30 "the permissions in a watched namespace" may yes list pods check-watched || die "a manager with namespaced-watch may not list pods where it was allowed to"
  may yes delete sampledbsnapshots.example.com check-watched || die "a manager with namespaced-watch lacks permissions in a watched namespace"
  may yes get pods "$SYSTEM" || die "a manager with namespaced-watch may not read its own pod"
  kubectl delete namespace check-watched --wait=false >/dev/null
  say "namespaced-watch grants permissions in the watched namespace and its own, and in no other"
}

# The page's own line.
cluster_role_goes() { sed -n '/^### For single namespaces/,/^## /{/^kubectl delete /p}' docs/gitops.md; }

# may yes|no VERB RESOURCE NAMESPACE
may() {
  local answer
  answer=$(kubectl auth can-i "$2" "$3" --namespace "$4" --as "system:serviceaccount:$SYSTEM:multi-operator-manager" 2>/dev/null) || true
  [[ $answer == "$1" ]]
}
