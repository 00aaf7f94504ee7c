# shellcheck shell=bash
# What only an API server knows: its validation, pod security, and the result of a write.

# No admission has to complete here: no pod has to run. The cluster is always one of its own: the checks below revoke permissions,
# and delete namespaces that have the names of real ones.
api_server() {
  local said
  unset KUBECONFIG MULTI_OPERATOR_CLUSTER
  # Read by what takes it down.
  # shellcheck disable=SC2034
  STARTED=$CLUSTER
  use_cluster "$CLUSTER" --profile control-plane
  said=$(kubectl apply --server-side --force-conflicts --filename "$SCHEMAS/crds" 2>&1) || die "the CRDs of other projects cannot be created: $said"
  apply kustomize/crds >/dev/null
  await_crds kubectl crd --all
  for namespace in argocd flux-system; do
    kubectl create namespace "$namespace" --dry-run=client --output=yaml | kubectl apply --server-side --filename - >/dev/null
  done
}

# apply DIRECTORY OPTION...: as GitOps does, and with a warning being an error.
apply() {
  local folder=$1 said
  shift
  "$(tool kustomize kustomize)" build "$folder" >"$WORK/apply.yaml"
  kubectl apply --server-side --force-conflicts --filename "$WORK/apply.yaml" "$@" 2>"$WORK/said" ||
    die "$folder: the API server rejects it: $(cat "$WORK/said")"
  said=$(<"$WORK/said")
  [[ -z $said ]] || die "$folder: the API server accepts it with a warning: $said"
}

# What is applied by itself: overlays and the rest. A directory does not exist before its helper has created it.
applied_folders() {
  local folder
  for folder in kustomize/{overlays,instances,olm/overlays,flux}/{dev,staging,production} kustomize/argocd; do
    [[ ! -f $folder/kustomization.yaml ]] || printf '%s\n' "$folder"
  done
}

# Every namespace, first, with pod security restricted enforced and warned of: then what is in them.
dry_runs() {
  local folder namespace count=0
  for namespace in multi-operator-system dev staging production; do
    kubectl create namespace "$namespace" --dry-run=client --output=yaml |
      kubectl label --local --filename - --output=yaml pod-security.kubernetes.io/{enforce,warn}=restricted |
      kubectl apply --server-side --force-conflicts --filename - >/dev/null
  done
  while read -r folder; do
    apply "$folder" --dry-run=server >/dev/null
    count=$((count + 1))
  done < <(applied_folders)
  say "the API server would accept $count directories, with pod security restricted, without a warning"
}


# applied_twice: what is applied again as it is changes nothing. And an overlay's pods are admitted, whether or not they run.
applied_twice() {
  local folder before after count=0 replicas
  while read -r folder; do
    apply "$folder" >/dev/null
    if [[ $folder == kustomize/overlays/* ]]; then
      replicas=$(sed -n 's/^  replicas: //p' "$WORK/apply.yaml")
      kubectl wait --for=jsonpath='{.status.updatedReplicas}'="$replicas" --namespace "$SYSTEM" "$MANAGER" --timeout=60s >/dev/null ||
        die "$folder: its pods are not admitted: $(kubectl get events --namespace "$SYSTEM" --field-selector reason=FailedCreate --output=jsonpath='{.items[-1:].message}')"
    fi
    # The default of an untouched status is not stored when a custom resource is created, but with the next write. On a real
    # cluster a controller has written it long before; here none runs.
    [[ $folder == kustomize/overlays/* ]] || apply "$folder" >/dev/null
    # Controllers write into status as long as there is something to say.
    before=$(settled)
    apply "$folder" >/dev/null
    after=$(versions)
    [[ $before == "$after" ]] || die "$folder: applied again, it changes $(diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") | sed -n 's/^> //p' | paste -sd,)"
    count=$((count + $(wc -l <<<"$after")))
  done < <(applied_folders)
  say "applied again, nothing changes: $count resourceVersions are as they were"
}

versions() {
  kubectl get --filename "$WORK/apply.yaml" --no-headers \
    --output=custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,VERSION:.metadata.resourceVersion
}

# versions, when they have been the same for two seconds.
settled() {
  local one two
  for _ in {1..15}; do
    one=$(versions)
    sleep 2
    two=$(versions)
    [[ $one == "$two" ]] && break
  done
  printf '%s' "$two"
}
