# shellcheck shell=bash
# What an overlay in another repository names: this project's directories, by address and ref.

# remote_builds: from a bare clone of what is in the working tree, committed or not.
remote_builds() {
  local source=$WORK/source folder overlay=$WORK/elsewhere said count=0 address="file://$WORK/repository.git//kustomize"
  mkdir -p "$source" "$overlay"
  cp -r config kustomize "$source/"
  git -C "$source" init --quiet
  git -C "$source" add --all
  git -C "$source" -c user.name=check -c user.email=check@localhost commit --quiet --message=check
  git -C "$source" tag v0
  git clone --quiet --bare "$source" "$WORK/repository.git"
  for folder in crds base watched-namespace {overlays,instances,olm/overlays,flux}/{dev,staging,production}; do
    said=$(cd "$overlay" && "$(tool kustomize kustomize)" build "$address/$folder?ref=v0" 2>&1 >/dev/null) ||
      die "kustomize/$folder does not build by its address: $said"
    [[ -z $said ]] || die "kustomize/$folder builds by its address with a warning: $said"
    count=$((count + 1))
  done
  cat >"$overlay/kustomization.yaml" <<OVERLAY
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: platform
resources:
  - $address/base?ref=v0
components:
  - $address/components/high-availability?ref=v0
images:
  - name: multi-operator
    newName: $RELEASE_IMAGE
    newTag: 0.1.0
OVERLAY
  "$(tool kustomize kustomize)" build "$overlay" >"$WORK/elsewhere.yaml" 2>"$WORK/said" || die "an overlay elsewhere does not build: $(cat "$WORK/said")"
  [[ ! -s $WORK/said ]] || die "an overlay elsewhere builds with a warning: $(cat "$WORK/said")"
  ! grep -q "multi-operator-system" "$WORK/elsewhere.yaml" ||
    die "an overlay with a namespace of its own leaves something in multi-operator-system: $(grep -m1 multi-operator-system "$WORK/elsewhere.yaml")"
  say "$count directories build by their address and a ref, and so does an overlay of them with a namespace of its own"
}
