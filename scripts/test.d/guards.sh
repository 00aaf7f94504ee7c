# shellcheck shell=bash
# Each test is a subshell: what it sets is read by what it sources, and what it defines is called from there.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2317
# For self-test: what scripts leave alone, or refuse, since something that is not theirs would be lost.

# guarded FUNCTION: in a process of its own, as what it tests ends the process; and in the background, where errexit holds.
guarded() {
  NAME=$1
  "$1" >"$WORK/$NAME.said" 2>&1 &
  wait "$!" || wrong "it fails"
}

# The checks of the kustomizations delete a namespace called production: not on the cluster of KUBECONFIG.
given_cluster_is_left_alone() (
  set -e
  SCRIPTS=$WORK/stand-in CLUSTER=kustomize SCHEMAS=$WORK
  export KUBECONFIG=$WORK/theirs MULTI_OPERATOR_CLUSTER=theirs
  mkdir "$SCRIPTS"
  printf '#!/bin/sh\n[ "$1" != env ] || echo "export KUBECONFIG=%s MULTI_OPERATOR_CLUSTER=kustomize"\n' "$WORK/own" >"$SCRIPTS/cluster"
  chmod +x "$SCRIPTS/cluster"
  . scripts/cluster.d/deploy.sh
  . scripts/check-kustomize.d/live.sh
  kubectl() { printf '%s\n' "${KUBECONFIG:-none}" >>"$WORK/asked"; }
  apply() { kubectl; }
  api_server
  [[ $(sort -u "$WORK/asked") == "$WORK/own" ]] || die "kubectl was called with $(sort -u "$WORK/asked" | paste -sd' '), and $WORK/own is its own"
  [[ $STARTED == kustomize ]] || die "the cluster that it has started is left"
)

# So it has that cluster to itself, also during another run of scripts/test with KUBECONFIG.
manifests_take_the_lock() (
  set -e
  GIVEN_KUBECONFIG=$WORK/theirs CLUSTER_STAGES=(manifests e2e) STAGE_RESULT=([e2e]=waiting)
  locks() { printf '%s' "$WORK/locks"; }
  mkdir "$WORK/locks"
  alone_on_this_machine
  [[ ! -e $WORK/locks/test.lock ]] || die "a run that starts no cluster takes the lock"
  STAGE_RESULT=([manifests]=waiting)
  alone_on_this_machine
  [[ -s $WORK/locks/test.lock ]] || die "the lock is not taken"
)

# scripts/release replaces a release, and no other directory.
folder_of_others_is_left_alone() (
  set -e
  local folder=$WORK/folder said
  mkdir "$folder"
  echo precious >"$folder/file"
  ! said=$(timeout 60 env MULTI_OPERATOR_CACHE="$WORK/cache-release" scripts/release --dry-run --output "$folder" 2>&1) || die "scripts/release takes it"
  [[ $said == *"$folder has 'file', which is of no release"* ]] || die "it says: $said"
  [[ -s $folder/file ]] || die "the file was deleted"
)

release_takes_the_place_of_one() (
  set -e
  . scripts/release.d/checks.sh
  . scripts/release.d/files.sh
  OUTPUT=$WORK/released NEW=$WORK/new
  local content
  for content in first second; do
    mkdir "$NEW"
    echo "$content" >"$NEW/$content"
    (cd "$NEW" && sha256sum "$content" >"$WORK/sums" && mv "$WORK/sums" SHA256SUMS)
    replace_output
    [[ $(cd "$OUTPUT" && echo *) == "SHA256SUMS $content" ]] || die "it has $(cd "$OUTPUT" && echo *)"
  done
  [[ $(echo "$OUTPUT"*) == "$OUTPUT" ]] || die "next to it there are $(echo "$OUTPUT"*)"
  mkdir "$NEW"
  : >"$OUTPUT/notes"
  ! (replace_output) || die "a file that was added during the build is removed"
  [[ -e $OUTPUT/notes && -e $OUTPUT/second ]] || die "the old release was deleted"
)

# A registry that answers neither that it has a bundle nor that it has not: nothing is pushed.
silent_registry_stops_a_release() (
  set -e
  . scripts/release.d/checks.sh
  . scripts/release.d/publish.sh
  OUTPUT=$WORK/published RELEASE_IMAGE=r.example.org/p VERSION=2.0.0 PUSH_TO=''
  local said answer
  mkdir "$OUTPUT"
  printf '%s\n' 'image: r.example.org/p-bundle:1.0.0' 'image: r.example.org/p-bundle@sha256:1' '- image: r.example.org/p:1.0.0' >"$OUTPUT/catalog.yaml"
  step() { :; }
  pushed_name() { printf '%s' "$1:2.0.0"; }
  release_name() { printf '%s' "$1:2.0.0"; }
  digest_of() { :; }
  release_images() {
    printf '%s\n' "$*" >>"$WORK/registry"
    [[ $1 != exists ]] || "$answer"
  }
  refuses() { echo "unauthorized: 401" >&2; return 1; }
  lacks_it() { echo r.example.org/p-bundle:1.0.0; }
  for answer in refuses lacks_it; do
    ! said=$(publish 2>&1) || die "it is published where the registry $answer"
    printf '%s\n' "$said"
  done
  grep -q 'cannot determine whether the registry has .*: unauthorized: 401' "$WORK/$NAME.said" || die "the registry's message is missing"
  grep -q 'leads to r.example.org/p-bundle:1.0.0, which was never published' "$WORK/$NAME.said" || die "the missing bundle is not named"
  [[ $(sort -u "$WORK/registry") == 'exists r.example.org/p-bundle:1.0.0' ]] || die "the registry was asked $(cat "$WORK/registry")"
)
