# shellcheck shell=bash
# Argo CD on three clusters, one an environment.

GITOPS=gitops
ENVIRONMENTS=(dev staging production)
# How long nothing may leave Synced and Healthy, in seconds; --all looks for ten minutes.
SOAK=120

gitops_clusters() {
  local name environment
  [[ -z $GIVEN_KUBECONFIG ]] || { say "the three environments are clusters of our own: unset KUBECONFIG"; return 1; }
  [[ $KEEP == yes ]] || take_down
  unset KUBECONFIG
  for name in "${ENVIRONMENTS[@]}"; do
    # What an earlier run has left there is no new environment.
    scripts/cluster down --name "$GITOPS-$name" >/dev/null || return
    STARTED+=("$GITOPS-$name")
    scripts/cluster up --name "$GITOPS-$name" "${VERSION[@]}" || return
  done
  scripts/argocd up --name "$GITOPS" --local || return
  environment=$(scripts/argocd env --name "$GITOPS") && eval "$environment"
}

gitops() {
  [[ $ALL == no ]] || SOAK=600
  run "gitops build" cargo test "${LOCKED[@]}" --quiet -p e2e --test gitops --no-run || return
  run "gitops clusters" gitops_clusters || return
  MULTI_OPERATOR_SOAK_SECONDS=${MULTI_OPERATOR_SOAK_SECONDS:-$SOAK} run "gitops" suite gitops --test-threads=9 --show-output
  unset KUBECONFIG
}
