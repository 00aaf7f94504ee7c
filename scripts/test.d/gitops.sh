# shellcheck shell=bash
# Argo CD on three clusters, one an environment.

ENVIRONMENTS=(dev staging production)
# How long everything must remain Synced and Healthy, in seconds; the part `long` sets ten minutes.
SOAK=120

gitops() {
  local name environment
  [[ -z $GIVEN_KUBECONFIG ]] || { say "the three environments are clusters of our own: unset KUBECONFIG"; return 1; }
  for name in "${ENVIRONMENTS[@]}"; do own_cluster "gitops-$name" || return; done
  await_stage build && scripts/argocd up --name gitops --local || return
  environment=$(scripts/argocd env --name gitops) && eval "$environment" || return
  MULTI_OPERATOR_SOAK_SECONDS=${MULTI_OPERATOR_SOAK_SECONDS:-$SOAK} suite gitops --test-threads=18
}
