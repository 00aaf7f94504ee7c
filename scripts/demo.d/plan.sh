# shellcheck shell=bash
# What has to be built for the demo on a local cluster, and in which order.

# The cluster's programs, in the order in which they are built: the largest first. All have to be there before it starts.
PROGRAMS=(
  "$(kubernetes_family "$DEFAULT_KUBERNETES") Kubernetes kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet kube-proxy"
  "ours provisioner provisioner"
  "containerd containerd containerd containerd-shim-runc-v2 ctr"
  "coredns CoreDNS coredns"
  "etcd etcd etcd"
  "kustomize kustomize kustomize"
)
# Those of an image that the samples ask for.
IMAGE_PROGRAMS="etcd-3.6 etcd etcdctl etcdutl"
# The images of config/samples. That of nginx:1.26, for an upgrade by hand, is built when they are ready.
SAMPLE_IMAGES=(nginx-1.25 postgres-17 etcd-3.6)

# build_programs FAMILY PROGRAM...: what waits for them has time, so that cargo, which has the longer chain of steps that
# depend on each other, gets the processor first.
build_programs() {
  renice -n 10 -p "$BASHPID" >/dev/null
  ensure_tools "$@"
}

# shellcheck disable=SC2016
plan_jobs() {
  local entry family text programs before='' all=() image needs
  job packages "Debian packages" '' 'require_programs "${BASE_PROGRAMS[@]}" "${NODE_PROGRAMS[@]}" "${RUST_PROGRAMS[@]}" "${DEBIAN_PROGRAMS[@]}"'
  job manager "the manager (Rust, profile $MANAGER_PROFILE)" packages 'scripts/images manager'
  for entry in "${PROGRAMS[@]}"; do
    read -r family text programs <<<"$entry"
    job "$family" "$text" "$before" "build_programs $family $programs"
    all+=("$family")
    before=$family
  done
  for image in "${SAMPLE_IMAGES[@]}"; do
    needs=packages
    [[ $image != etcd-* ]] || needs="packages $before"
    job "$image" "the image $image" "$needs" "scripts/images $image"
  done
  job cluster "the cluster $CLUSTER" "packages ${all[*]}" "scripts/cluster up --name $CLUSTER"
  for image in manager "${SAMPLE_IMAGES[@]}"; do
    job "load-$image" "loading $image" "cluster $image" "scripts/images --load $CLUSTER $image"
  done
}

# Missing programs, to say what a run is going to build.
missing_programs() {
  local entry family text programs program folder missing=''
  for entry in "${PROGRAMS[@]}" "${IMAGE_PROGRAMS%% *} etcd-3.6 ${IMAGE_PROGRAMS#* }"; do
    read -r family text programs <<<"$entry"
    folder=$(family_folder "$family")
    for program in $programs; do
      [[ -x $folder/$program ]] || { missing+="${missing:+, }$text"; break; }
    done
  done
  printf '%s' "$missing"
}

announce() {
  local missing
  missing=$(missing_programs)
  say "scripts/demo starts the cluster '$CLUSTER', installs the manager (profile $MANAGER_PROFILE) in it and applies config/samples."
  if [[ -n $missing ]]; then
    say "It builds first, from source: $missing (Go), the manager (Rust), and images of nginx, PostgreSQL and etcd."
    say "$FIRST_RUN"
    say "Ctrl-C stops it; the next run continues from there. Logs: $JOB_LOGS"
  else
    say "$LATER_RUN"
  fi
}
