# shellcheck shell=bash
# Images into the registry, signatures next to them, and the release on GitHub.

publish() {
  local what name digest pushed
  check_earlier "$OUTPUT/catalog.yaml"

  # The catalog last: what it names is there when it is.
  for what in manager bundle catalog; do
    name=$(pushed_name "$what")
    digest=$(digest_of "$what" "$OUTPUT")
    step "push $name"
    pushed=$(release_images push "$OUTPUT/$(oci_file "$what")" "$name") || die "$name could not be pushed"
    [[ $pushed == "$digest" ]] || die "$name is $pushed in the registry, and $digest in $OUTPUT/images.txt"
    say "  $name@$digest"
    # For the workflow's attestations.
    [[ -z ${GITHUB_OUTPUT:-} ]] || printf '%s\n' "$what-name=${name%:*}" "$what-digest=$digest" >>"$GITHUB_OUTPUT"
  done
  [[ $SIGN == no ]] || sign
  [[ $GITHUB_RELEASE == no ]] || github_release
}

oci_file() {
  local name
  name=$(release_name "$1")
  name=${name##*/}
  printf '%s-%s.oci.tar' "${name%:*}" "$VERSION"
}

# Signed with the identity of the user or workflow that runs this, not with a key: the certificate names it, and a public log has
# the time.
sign() {
  local what image program
  for what in manager bundle catalog; do
    image=$(pushed_name "$what")
    image=${image%:*}@$(digest_of "$what" "$OUTPUT")
    step "sign $image"
    cosign sign --yes --recursive "$image" || die "cosign did not sign $image"
  done
  image=$(pushed_name manager)
  image=${image%:*}@$(digest_of manager "$OUTPUT")
  for program in manager agent; do
    cosign attest --yes --type cyclonedx --predicate "$OUTPUT/$program-$VERSION.cdx.json" "$image" ||
      die "the bill of materials of $program could not be attached to $image"
  done
  step "sign SHA256SUMS"
  cosign sign-blob --yes --bundle "$OUTPUT/SHA256SUMS.sigstore.json" "$OUTPUT/SHA256SUMS" || die "cosign did not sign SHA256SUMS"
}

# A draft until it has all its files. A release that is there keeps its text, and gets the files again.
github_release() {
  local tag=v$VERSION files
  mapfile -t files < <(find "$OUTPUT" -maxdepth 1 -type f ! -name '*.oci.tar' | sort)
  step "GitHub's release $tag"
  # A checkout by GitHub's action may have the tag without its message, which is what is new.
  repository fetch --quiet --force origin "refs/tags/$tag:refs/tags/$tag" || say "  the tag's message could not be fetched"
  gh release view "$tag" >/dev/null 2>&1 || gh release create "$tag" --draft --verify-tag --title "$tag" --notes-from-tag
  gh release upload "$tag" --clobber "${files[@]}"
  gh release edit "$tag" --draft=false
}
