# shellcheck shell=bash
# The manager of a release that scripts/release has built: suites run the same image that is published afterward.

# take_release DIRECTORY: sets MANAGER_IMAGE_TAR to the image of that release, and MANAGER_BINARY to the program in it.
take_release() {
  local folder=$1 commit taken=$RUN_FOLDER/release file digest
  [[ -f $folder/SHA256SUMS ]] || die "$folder has no SHA256SUMS: scripts/release --dry-run --output $folder builds a release there"
  (cd "$folder" && sha256sum --check --quiet --strict SHA256SUMS >&2) || die "$folder was changed after it was built"
  commit=$(git -c safe.directory="$PWD" rev-parse HEAD)
  grep -qx "commit $commit" "$folder/commit.txt" ||
    die "$folder is of another commit than these tests: $(head -n 1 "$folder/commit.txt"), and HEAD is $commit"
  # shellcheck source=/dev/null
  . scripts/names.env
  file=$folder/${RELEASE_IMAGE##*/}-$(sed -n 's/^version //p' "$folder/commit.txt").oci.tar
  [[ -f $file ]] || die "$folder has no image of the manager: there is no $file"
  ensure_tools ours release-images
  digest=$("$(tool ours release-images)" take "$file" "$(go env GOARCH)" "$MANAGER_IMAGE:$MANAGER_TAG" "$taken") ||
    die "the manager's image cannot be taken out of $file"
  printf '%s' "$digest" >"$taken/image.tar.digest"
  say "the manager under test is $digest, of $(sed -n 's/^manager //p' "$folder/images.txt")"
  MANAGER_IMAGE_TAR=$taken/image.tar MANAGER_BINARY=$taken/manager MULTI_OPERATOR_MANAGER=$taken/manager
  export MANAGER_IMAGE_TAR MANAGER_BINARY MULTI_OPERATOR_MANAGER
}
