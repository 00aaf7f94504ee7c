# shellcheck shell=bash
# What the stages of a run will need of other projects' programs and of images, made behind them in the order in which it is
# needed. A stage that gets there first waits for what is being made, or makes it itself.

# What operands of the suites run, by the names of scripts/images: of Debian's packages, and of Go's modules.
DEBIAN_IMAGES=(nginx-1.25 nginx-1.26 postgres-17 postgres-15 postgres-13 postgres-15-old etcd-3.3 etcd-3.4 etcd-3.5-old)
GO_IMAGES=(etcd-3.6 etcd-3.5 etcd-3.7)

builds_in_order() {
  if wants "${CLUSTER_STAGES[@]}" servers; then
    # The former keep disk and network busy, the latter the processors.
    ensure_images "${DEBIAN_IMAGES[@]}" &
    ! wants "${CLUSTER_STAGES[@]}" || (KUBERNETES=${VERSION_OPTION[1]:-$DEFAULT_KUBERNETES} && build_cluster_tools full)
    ensure_images "${GO_IMAGES[@]}"
    wait
  fi
  # The first suites run by now: the rest takes what they leave.
  renice -n 19 "$BASHPID" >/dev/null
  ! wants olm || ensure_tools olm olm catalog opm
  ! wants olm || ensure_tools olm-images cpb
  ! wants gitops health || ensure_tools argocd argocd
  ! wants olm || ensure_images manager-previous
  ! wants manifests health rules || ensure_tools kustomize kustomize
  ! wants health || ensure_tools ours kstatus
  ! wants rules || ensure_tools prometheus promtool
  ! wants rules || ensure_tools ours monitoring
  ! wants manifests || ensure_tools ours manifests
  ! wants manifests || ensure_tools kwok kwok
  ! wants bundle || ensure_tools ours bundle-validators
  ! wants workflows || ensure_tools actionlint actionlint
  say "all that this run needs is built, but for what failed above"
}

ensure_images() {
  local image
  for image in "$@"; do scripts/images "$image" >/dev/null || return; done
}

# wants STAGE...: whether this run has one of them.
wants() {
  local name
  for name in "$@"; do [[ -z ${STAGE_RESULT[$name]:-} ]] || return 0; done
  return 1
}
