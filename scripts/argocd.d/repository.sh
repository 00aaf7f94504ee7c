# shellcheck shell=bash
# The git repository that Argo CD reads: this checkout's manifests, uncommitted ones included, with the digest of the image
# that was just built where a release would have its own.

# In the state directory of the first environment's cluster.
repository() { printf '%s/argocd/repo.git' "$STATE"; }

# Whatever the caller's git is set to does not matter here.
git_here() {
  GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git -c user.name=multi-operator -c user.email=multi-operator@localhost \
    -c init.defaultBranch=main "$@"
}

push_checkout() {
  local work repository overlay
  require_programs git:git
  work=$(mktemp -d)
  repository=$(repository)
  [[ -d $repository ]] || git_here init --quiet --bare "$repository"
  git_here clone --quiet "$repository" "$work/tree" 2>/dev/null
  rm -rf "$work/tree/kustomize" "$work/tree/config"
  cp -R "$SCRIPTS/../kustomize" "$SCRIPTS/../config" "$work/tree/"
  for overlay in "$work"/tree/kustomize/overlays/*; do
    ! grep -q "newName: $RELEASE_IMAGE\$" "$overlay/kustomization.yaml" ||
      (cd "$overlay" && "$SCRIPTS/kustomize" edit set image "multi-operator=$RELEASE_IMAGE@$(cat "$STATE/argocd/digest")")
  done
  (
    cd "$work/tree"
    git_here add --all
    git_here diff --cached --quiet || git_here commit --quiet --message "The manifests of this checkout"
    git_here push --quiet origin HEAD:main
  ) || die "the checkout could not be pushed to $repository"
  rm -rf "$work"
  say "  $repository has this checkout's manifests"
}
