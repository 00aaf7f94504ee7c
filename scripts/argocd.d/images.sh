# shellcheck shell=bash
# What the environments' manifests ask for, without a registry: the manager by its tag (dev) and by its digest, and another
# digest to promote, which is the same manager with another label.

# What kustomize/instances run.
OPERANDS=(nginx-1.26 etcd-3.6 postgres-17)

environment_images() {
  local environment tar next
  say "  images of this checkout"
  tar=$(manager_image)
  next=$(manager_image "$RELEASE_IMAGE:next" --label org.opencontainers.image.revision=next)
  mkdir -p "$STATE/argocd"
  cp "$tar.digest" "$STATE/argocd/digest"
  cp "$next.digest" "$STATE/argocd/next-digest"
  for environment in "${ENVIRONMENTS[@]}"; do
    "$SCRIPTS/images" --load "$PREFIX-$environment" manager "${OPERANDS[@]}" >/dev/null
    use_environment "$environment"
    has_image "$RELEASE_IMAGE:next" "$(cat "$next.digest")" || load_image "$next"
    by_digest "$MANAGER_IMAGE:$MANAGER_TAG" "$tar"
    by_digest "$RELEASE_IMAGE:next" "$next"
  done
  use_home
}

# by_digest NAME TAR: that image, as a release is asked for.
by_digest() { ctr_images tag --force "$1" "$RELEASE_IMAGE@$(cat "$2.digest")" >/dev/null; }
