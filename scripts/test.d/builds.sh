# shellcheck shell=bash
# The programs of other projects and the images that the stages of a run will need, built in the background in the order in which
# they are needed. A stage that gets there first waits for the current build, or builds it itself.

# What operands of the suites run, by the names of scripts/images: of Debian's packages, and of Go's modules.
DEBIAN_IMAGES=(nginx-1.25 nginx-1.26 postgres-17 postgres-15 postgres-13 postgres-15-old etcd-3.3 etcd-3.4 etcd-3.5-old)
GO_IMAGES=(etcd-3.6 etcd-3.5 etcd-3.7 etcd-3.2)

builds_in_order() {
  # The current build ends with the rest of this process group, and no other begins.
  trap 'exit 143' INT TERM
  if wants "${CLUSTER_STAGES[@]}" servers databases; then
    # The former keep disk and network busy, the latter the processors.
    make_ready debian-images ensure_images "${DEBIAN_IMAGES[@]}" &
    ! wants "${CLUSTER_STAGES[@]}" || make_ready cluster cluster_tools
    ! wants "${CLUSTER_STAGES[@]}" servers || make_ready etcd-images ensure_images "${GO_IMAGES[@]}"
    wait
  fi
  # The first suites run by now: the rest takes what they leave.
  renice -n 19 "$BASHPID" >/dev/null
  ! wants gateways || make_ready traefik ensure_tools traefik traefik
  ! wants gitops health || make_ready argocd ensure_tools argocd argocd
  ! wants olm olm-2 || make_ready olm ensure_tools olm olm catalog opm
  ! wants olm olm-2 || make_ready olm-images ensure_tools olm-images cpb
  ! wants olm olm-2 || make_ready manager-previous previous_manager
  ! wants manifests health rules || make_ready kustomize ensure_tools kustomize kustomize
  ! wants health || make_ready kstatus ensure_tools ours kstatus
  ! wants rules || make_ready promtool ensure_tools prometheus promtool
  ! wants rules || make_ready monitoring ensure_tools ours monitoring
  ! wants manifests || make_ready manifest-checks ensure_tools ours manifests
  ! wants manifests || make_ready kwok ensure_tools kwok kwok
  ! wants bundle || make_ready bundle-validators ensure_tools ours bundle-validators
  ! wants workflows || make_ready actionlint ensure_tools actionlint actionlint
  say "all that this run needs is built, but for what failed above"
}

# What takes at least that long, in seconds, is part of the report.
WORTH_A_RECORD=2

# make_ready NAME COMMAND...: records the result for stages that need made:NAME.
make_ready() {
  local name=$1 begin result=ok
  shift
  begin=$(now_ms)
  (measured "build-$name" "$@") || result=FAILED
  if [[ $result == FAILED ]] || (($(now_ms) - begin >= WORTH_A_RECORD * 1000)); then
    write_record "build-$name" '' "$result" "$begin"
  fi
  mkdir -p "$RUN_FOLDER/made"
  printf '%s' "$result" >"$RUN_FOLDER/made/$name.new"
  mv "$RUN_FOLDER/made/$name.new" "$RUN_FOLDER/made/$name"
}

cluster_tools() { KUBERNETES=${VERSION_OPTION[1]:-$DEFAULT_KUBERNETES} && build_cluster_tools full; }

# It uses the dependencies that the stage build has built.
previous_manager() { await_stage build && ensure_images manager-previous; }

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
