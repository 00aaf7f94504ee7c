# shellcheck shell=bash
# Programs, built into the cache: our own (the family "ours", the module scripts/tools), and those of other projects, whose
# versions the modules scripts/tools/pins/<family> pin.

# The directory of a family's Go module.
family_module() { if [[ $1 == ours ]]; then printf '%s/tools' "$SCRIPTS"; else printf '%s/tools/pins/%s' "$SCRIPTS" "$1"; fi; }

# All that decides the bytes of a family's programs, except for the compiler.
family_sources() {
  cd "$(family_module "$1")" || return
  if [[ $1 == ours ]]; then
    # Names too: a file that moves to another package is another program.
    find cmd internal -name '*.go' ! -name '*_test.go' -exec sha256sum {} + | LC_ALL=C sort
  else
    cat ./*.go
    # What takes the place of others' code, in directories of its own.
    [[ $1 != traefik ]] || cat ./*/*.go ./*/go.mod
  fi
  cat go.mod go.sum
  family_flags "$1"
}

# The binaries of a family are in a directory named after its pinned version and a hash of its sources: programs of another
# version of the sources are never taken for these.
family_folder() {
  local family=$1 hash version
  version=$(family_version "$family")
  hash=$( (family_sources "$family") | sha256sum | cut -c1-10)
  printf '%s/bin/%s-%s%s' "$CACHE" "${family%%-1.*}" "${version:+$version-}" "$hash"
}

# The module that gives a family its version; our own programs have none.
family_version() {
  local module
  case $1 in
    kubernetes-*) module=k8s.io/kubernetes ;;
    etcd) module=go.etcd.io/etcd/server/v3 ;;
    containerd) module=github.com/containerd/containerd/v2 ;;
    coredns) module=github.com/coredns/coredns ;;
    kustomize) module=sigs.k8s.io/kustomize/kustomize/v5 ;;
    kwok) module=sigs.k8s.io/kwok ;;
    httpbin) module=github.com/mccutchen/go-httpbin/v2 ;;
    versitygw) module=github.com/versity/versitygw ;;
    fake-gcs-server) module=github.com/fsouza/fake-gcs-server ;;
    olm | olm-images) module=github.com/operator-framework/operator-lifecycle-manager ;;
    actionlint) module=github.com/rhysd/actionlint ;;
    argocd) module=github.com/argoproj/argo-cd/v3 ;;
    kube-router) module=github.com/cloudnativelabs/kube-router/v2 ;;
    prometheus) module=github.com/prometheus/prometheus ;;
    traefik) module=github.com/traefik/traefik/v3 ;;
    *) return 0 ;;
  esac
  awk -v m="$module" '{ i = $1 == "require" ? 2 : 1 } $i == m && $(i + 1) ~ /^v/ { print $(i + 1); exit }' "$(family_module "$1")/go.mod"
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
      # The module v0.315.0 is what is called 3.15.0.
      version=${version#v0.3}
      ld+=" -X github.com/prometheus/common/version.Version=3.${version#0}"
      # Of what it can discover targets by, only Kubernetes is used here: the libraries of two dozen clouds take longer to compile
      # than all the rest.
      printf '%s\n' -tags 'remove_all_sd,enable_kubernetes_sd'
      ;;
    argocd) ld+=" -X github.com/argoproj/argo-cd/v3/common.version=${version#v}" ;;
    kwok) ld+=" -X sigs.k8s.io/kwok/pkg/consts.Version=$version" ;;
    traefik) ld+=" -X github.com/traefik/traefik/v3/pkg/version.Version=${version#v}" ;;
    kustomize) ld+=" -X sigs.k8s.io/kustomize/api/provenance.version=$version" ;;
    olm | olm-images)
      ld+=" -X github.com/operator-framework/operator-lifecycle-manager/pkg/version.OLMVersion=$version"
      # Neither is a C library wanted, nor what reads the catalogues of old in SQLite.
      printf '%s\n' -tags containers_image_openpgp,exclude_graphdriver_btrfs,json1
      ;;
  esac
  # The compiler need not produce debug information that the linker drops (-s -w).
  printf '%s\n' -trimpath '-gcflags=all=-dwarf=false' -ldflags "$ld"
}

package_of() {
  case $1 in
    ours) printf './cmd/%s' "$2" ;;
    kubernetes-*) printf 'k8s.io/kubernetes/cmd/%s' "$2" ;;
    # The server is the main package in its directory, the others are those of their modules.
    etcd-3.2) if [[ $2 == etcd ]]; then printf .; else printf 'github.com/coreos/etcd/%s' "$2"; fi ;;
    etcd-*) if [[ $2 == etcd ]]; then printf .; else printf 'go.etcd.io/etcd/%s/v3' "$2"; fi ;;
    containerd) printf 'github.com/containerd/containerd/v2/cmd/%s' "$2" ;;
    kustomize) printf 'sigs.k8s.io/kustomize/kustomize/v5' ;;
    kwok) printf 'sigs.k8s.io/kwok/cmd/%s' "$2" ;;
    httpbin) printf 'github.com/mccutchen/go-httpbin/v2/cmd/%s' "$2" ;;
    versitygw) printf 'github.com/versity/versitygw/cmd/%s' "$2" ;;
    fake-gcs-server) printf 'github.com/fsouza/fake-gcs-server' ;;
    actionlint) printf 'github.com/rhysd/actionlint/cmd/actionlint' ;;
    prometheus) printf 'github.com/prometheus/prometheus/cmd/%s' "$2" ;;
    argocd) printf 'github.com/argoproj/argo-cd/v3/cmd' ;;
    traefik) printf 'github.com/traefik/traefik/v3/cmd/traefik' ;;
    olm-images) printf 'github.com/operator-framework/operator-lifecycle-manager/util/%s' "$2" ;;
    olm)
      if [[ $2 == opm ]]; then printf 'github.com/operator-framework/operator-registry/cmd/opm'; else
        printf 'github.com/operator-framework/operator-lifecycle-manager/cmd/%s' "$2"
      fi
      ;;
    *) printf '.' ;;
  esac
}

# module_to_build FAMILY DIRECTORY: where a family is built: its pin, or a copy of that in DIRECTORY with some code of others changed.
module_to_build() {
  case $1 in
    etcd-3.2) etcd_3_2_to_build "$2" ;;
    traefik) traefik_to_build "$2" ;;
    *) family_module "$1" ;;
  esac
}

# With its dependencies in it, from which is removed what today's Go cannot compile.
etcd_3_2_to_build() {
  mkdir "$1" && cp "$(family_module etcd-3.2)"/* "$1" &&
    (cd "$1" && GOWORK=off go mod vendor) >&2 &&
    # What codecgen has written for its package codec of 2017, which fails at the start of programs of Go 1.22 and later. Without
    # it etcd's client for the API v2 decodes by reflection.
    rm "$1/vendor/github.com/coreos/etcd/client/keys.generated.go" &&
    printf '%s' "$1"
}

# With its library for certificate authorities, which is the one that the pin names, but for the packages of 190 DNS providers:
# they are several times as much to compile as all the rest, and the module registry does not have every library of theirs.
traefik_to_build() {
  local lego
  lego=$(module_folder traefik github.com/go-acme/lego/v5) && cp -r "$(family_module traefik)" "$1" &&
    cp -r --no-preserve=mode "$lego" "$1/lego" && rm -r "$1"/lego/{cmd,e2e,main.go,providers} && mkdir "$1/lego/providers" &&
    mv "$1/dns" "$1/lego/providers/dns" && (cd "$1" && go mod edit -replace github.com/go-acme/lego/v5=./lego) &&
    printf '%s' "$1"
}

# ensure_tools FAMILY PROGRAM...: builds what is missing, each family once even when two runs want it.
ensure_tools() {
  local family=$1 folder program missing=() packages=() flags
  shift
  [[ -f $(family_module "$family")/go.mod ]] || die "$(family_module "$family")/go.mod is missing"
  folder=$(family_folder "$family")
  for program in "$@"; do [[ -x $folder/$program ]] || missing+=("$program"); done
  ((${#missing[@]})) || return 0
  require_go
  mkdir -p "$folder" "$CACHE/log"
  (
    if ! flock --nonblock 8; then
      say "waiting for $family, which another run builds"
      flock 8
    fi
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
    if ! (module=$(module_to_build "$family" "$temporary.module") && cd "$module" &&
      CGO_ENABLED=0 GOWORK=off GOFLAGS="-mod=$([[ -d vendor ]] && printf vendor || printf readonly) -buildvcs=false" \
        go build "${flags[@]}" -o "$output" "${packages[@]}") 8>&- 9>&- >"$log" 2>&1; then
      say "failed after $(since "$start"):"
      tail -n 20 "$log" >&2
      say "building $family failed: $(reason_in "$log"); once that is solved, the same command continues from here (log: $log)"
      rm -rf "$temporary"*
      exit 1
    fi
    rm -rf "$temporary.module"
    for program in "${missing[@]}"; do
      [[ -x $temporary/$program ]] || die "the module of $family builds no program of the name $program"
    done
    mv "$temporary"/* "$folder/"
    rmdir "$temporary"
    say "$(since "$start")"
  ) 8>"$folder/.lock" || die "building $* failed"
}

# module_folder FAMILY MODULE: where Go keeps the module that a family pins, with the files in it that are no programs.
module_folder() {
  local folder
  require_go
  folder=$(cd "$(family_module "$1")" && GOWORK=off GOFLAGS=-mod=readonly go mod download "$2" >&2 &&
    GOWORK=off GOFLAGS=-mod=readonly go list -m -f '{{.Dir}}' "$2") || die "the module $2 cannot be had"
  printf '%s' "$folder"
}

tool() { printf '%s/%s' "$(family_folder "$1")" "$2"; }

# The pinned module directory of a version as people write it, "1.36.3".
kubernetes_family() {
  local version=${1#v} pinned family known=()
  for family in "$SCRIPTS"/tools/pins/kubernetes-*; do
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
    ensure_tools ours provisioner
    ensure_tools containerd containerd containerd-shim-runc-v2 ctr
    ensure_tools coredns coredns
  else
    ensure_tools "$family" kube-apiserver kube-controller-manager kube-scheduler kubectl
    ensure_tools kwok kwok
  fi
}

# A directory with all programs of the cluster, by links: one entry for PATH.
link_cluster_tools() {
  local family program folder
  rm -rf "${STATE:?}/bin"
  mkdir -p "$STATE/bin"
  for family in "$(kubernetes_family "$KUBERNETES")" etcd containerd coredns kustomize kwok; do
    folder=$(family_folder "$family")
    for program in "$folder"/*; do
      [[ -x $program ]] && ln -sfn "$program" "$STATE/bin/"
    done
  done
  ln -sfn "$(tool ours provisioner)" "$STATE/bin/"
}
