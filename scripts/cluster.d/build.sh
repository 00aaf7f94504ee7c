# shellcheck shell=bash
# Programs, built from the modules pinned in scripts/tools/<family>, into the cache.

# The binaries of a family are in a folder named after its pinned version and a hash of all that decides their bytes.
family_folder() {
  local family=$1 source=$SCRIPTS/tools/$1 hash version
  version=$(family_version "$family")
  hash=$( (cd "$source" && cat ./*.go go.mod go.sum 2>/dev/null || true; family_flags "$family") | sha256sum | cut -c1-10)
  printf '%s/bin/%s-%s%s' "$CACHE" "${family%%-1.*}" "${version:+$version-}" "$hash"
}

# The module that gives a family its version; a program of our own has none.
family_version() {
  local module
  case $1 in
    kubernetes-*) module=k8s.io/kubernetes ;;
    etcd) module=go.etcd.io/etcd/server/v3 ;;
    containerd) module=github.com/containerd/containerd/v2 ;;
    coredns) module=github.com/coredns/coredns ;;
    kustomize) module=sigs.k8s.io/kustomize/kustomize/v5 ;;
    kwok) module=sigs.k8s.io/kwok ;;
    olm | olm-images) module=github.com/operator-framework/operator-lifecycle-manager ;;
    bundle-validators) module=github.com/operator-framework/api ;;
    actionlint) module=github.com/rhysd/actionlint ;;
    argocd) module=github.com/argoproj/argo-cd/v3 ;;
    kstatus) module=sigs.k8s.io/cli-utils ;;
    kube-router) module=github.com/cloudnativelabs/kube-router/v2 ;;
    prometheus) module=github.com/prometheus/prometheus ;;
    monitoring) module=github.com/prometheus-operator/prometheus-operator ;;
    release-images) module=github.com/google/go-containerregistry ;;
    *) return 0 ;;
  esac
  awk -v m="$module" '{ i = $1 == "require" ? 2 : 1 } $i == m && $(i + 1) ~ /^v/ { print $(i + 1); exit }' "$SCRIPTS/tools/$1/go.mod"
}

# One flag a line. Without the -X flags Kubernetes says it is v0.0.0, and clients refuse or misjudge it.
family_flags() {
  local family=$1 version ld="-s -w"
  version=$(family_version "$family")
  case $family in
    kubernetes-*)
      local package=k8s.io/component-base/version minor=${version#v1.}
      ld+=" -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=${minor%%.*} -X $package.gitTreeState=clean"
      # What the programs call themselves as clients, which is what the audit log has.
      ld+=" -X k8s.io/client-go/pkg/version.gitVersion=$version"
      ;;
    containerd)
      ld+=" -X github.com/containerd/containerd/v2/version.Version=$version"
      printf '%s\n' -tags 'no_btrfs no_devmapper no_zfs no_tracing'
      ;;
    prometheus)
      # The module v0.305.1 is what is called 3.5.1.
      version=${version#v0.3}
      ld+=" -X github.com/prometheus/common/version.Version=3.${version#0}"
      ;;
    argocd) ld+=" -X github.com/argoproj/argo-cd/v3/common.version=${version#v}" ;;
    kwok) ld+=" -X sigs.k8s.io/kwok/pkg/consts.Version=$version" ;;
    kustomize) ld+=" -X sigs.k8s.io/kustomize/api/provenance.version=$version" ;;
    olm | olm-images)
      ld+=" -X github.com/operator-framework/operator-lifecycle-manager/pkg/version.OLMVersion=$version"
      # Neither is a C library wanted, nor what reads the catalogues of old in SQLite.
      printf '%s\n' -tags containers_image_openpgp,exclude_graphdriver_btrfs,json1
      ;;
  esac
  printf '%s\n' -trimpath -ldflags "$ld"
}

package_of() {
  case $1 in
    kubernetes-*) printf 'k8s.io/kubernetes/cmd/%s' "$2" ;;
    containerd) printf 'github.com/containerd/containerd/v2/cmd/%s' "$2" ;;
    kustomize) printf 'sigs.k8s.io/kustomize/kustomize/v5' ;;
    kwok) printf 'sigs.k8s.io/kwok/cmd/%s' "$2" ;;
    actionlint) printf 'github.com/rhysd/actionlint/cmd/actionlint' ;;
    prometheus) printf 'github.com/prometheus/prometheus/cmd/%s' "$2" ;;
    argocd) printf 'github.com/argoproj/argo-cd/v3/cmd' ;;
    olm-images) if [[ $2 == cpb ]]; then printf 'github.com/operator-framework/operator-lifecycle-manager/util/cpb'; else printf .; fi ;;
    olm)
      if [[ $2 == opm ]]; then printf 'github.com/operator-framework/operator-registry/cmd/opm'; else
        printf 'github.com/operator-framework/operator-lifecycle-manager/cmd/%s' "$2"
      fi
      ;;
    *) printf '.' ;;
  esac
}

# ensure_tools FAMILY PROGRAM...: builds what is missing, each family once even when two runs want it.
ensure_tools() {
  local family=$1 folder program missing=() packages=() flags
  shift
  [[ -f $SCRIPTS/tools/$family/go.mod ]] || die "scripts/tools/$family/go.mod is missing"
  folder=$(family_folder "$family")
  for program in "$@"; do [[ -x $folder/$program ]] || missing+=("$program"); done
  ((${#missing[@]})) || return 0
  require_go
  mkdir -p "$folder" "$CACHE/log"
  (
    flock 8
    missing=()
    for program in "$@"; do
      [[ -x $folder/$program ]] && continue
      missing+=("$program")
      packages+=("$(package_of "$family" "$program")")
    done
    ((${#missing[@]})) || exit 0
    mapfile -t flags < <(family_flags "$family")
    local version start temporary output log=$CACHE/log/build-$family.log
    version=$(family_version "$family")
    start=$(now_ms)
    # A name that no other run takes for finished; left-overs of a killed build are swept first.
    rm -rf "$folder"/.partial.*
    temporary=$folder/.partial.$$
    mkdir "$temporary"
    # One program is named as it is asked for, whatever its package is called.
    output=$temporary/
    ((${#missing[@]} > 1)) || output+=${missing[0]}
    printf 'building %s%s ... ' "${missing[*]}" "${version:+ $version}" >&2
    if ! (cd "$SCRIPTS/tools/$family" &&
      CGO_ENABLED=0 GOWORK=off GOFLAGS='-mod=readonly -buildvcs=false' \
        go build "${flags[@]}" -o "$output" "${packages[@]}") 8>&- 9>&- >"$log" 2>&1; then
      say "failed after $(since "$start"):"
      tail -n 20 "$log" >&2
      rm -rf "$temporary"
      exit 1
    fi
    mv "$temporary"/* "$folder/"
    rmdir "$temporary"
    say "$(since "$start")"
  ) 8>"$folder/.lock" || die "building ${missing[*]} failed"
}

# module_folder FAMILY MODULE: where Go keeps the module that a family pins, with the files in it that are no programs.
module_folder() {
  local folder
  require_go
  folder=$(cd "$SCRIPTS/tools/$1" && GOWORK=off GOFLAGS=-mod=readonly go mod download "$2" >&2 &&
    GOWORK=off GOFLAGS=-mod=readonly go list -m -f '{{.Dir}}' "$2") || die "the module $2 cannot be had"
  printf '%s' "$folder"
}

tool() { printf '%s/%s' "$(family_folder "$1")" "$2"; }

# The pinned module folder of a version as people write it, "1.36.3".
kubernetes_family() {
  local version=${1#v} pinned family known=()
  for family in "$SCRIPTS"/tools/kubernetes-*; do
    pinned=$(family_version "$(basename "$family")")
    known+=("${pinned#v}")
    if [[ ${pinned#v} == "$version" ]]; then
      basename "$family"
      return
    fi
  done
  die "--kubernetes $1 is not pinned here; known: ${known[*]}"
}

# build_cluster_tools PROFILE: all programs of a profile, the quick ones first.
build_cluster_tools() {
  local family
  family=$(kubernetes_family "$KUBERNETES")
  ensure_tools kustomize kustomize
  ensure_tools etcd etcd
  if [[ $1 == full ]]; then
    ensure_tools "$family" kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet kube-proxy
    ensure_tools provisioner provisioner
    ensure_tools containerd containerd containerd-shim-runc-v2 ctr
    ensure_tools coredns coredns
  else
    ensure_tools "$family" kube-apiserver kube-controller-manager kube-scheduler kubectl
    ensure_tools kwok kwok
  fi
}

# A folder with all programs of the cluster, by links: one entry for PATH.
link_cluster_tools() {
  local family program folder
  rm -rf "${STATE:?}/bin"
  mkdir -p "$STATE/bin"
  for family in "$(kubernetes_family "$KUBERNETES")" etcd containerd coredns kustomize kwok provisioner; do
    folder=$(family_folder "$family")
    for program in "$folder"/*; do
      [[ -x $program ]] && ln -sfn "$program" "$STATE/bin/"
    done
  done
}
