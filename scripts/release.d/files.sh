# shellcheck shell=bash
# What a release consists of, in the order in which one thing needs another's digest.

SBOM_TOOL=cargo-cyclonedx
SBOM_TOOL_VERSION=0.5.9

make_images_and_files() {
  local manager bundle
  printf 'commit %s\nversion %s\n' "$COMMIT" "$VERSION" >"$NEW/commit.txt"
  if [[ -n ${MANAGER_BINARY:-}${MANAGER_IMAGE_TAR:-} || -n $MANAGER_FEATURES || $MANAGER_PROFILE != release ]]; then
    # The user who publishes this later needs to know.
    printf 'manager given\n' >>"$NEW/commit.txt"
    object "the manager is not as a release has it: MANAGER_BINARY, MANAGER_IMAGE_TAR, MANAGER_FEATURES or MANAGER_PROFILE is set"
  fi

  step "the manager's image"
  manager_index
  manager=$RELEASE_IMAGE@$(digest_of manager)

  step "the bundle, with the manager by its digest"
  scripts/bundle "$VERSION" --image "$manager" --output "$WORK/bundle" >&2
  scripts/check-bundle "$WORK/bundle"
  bundle_index "$WORK/bundle"
  bundle=$RELEASE_IMAGE-bundle@$(digest_of bundle)

  step "the catalog, with the bundle by its digest"
  make_catalog "$bundle"
  catalog_index "$WORK/catalog"

  step "install.yaml and crds.yaml"
  make_manifests "$manager"

  step "what OperatorHub is given"
  scripts/submission --bundle "$WORK/bundle" --output "$WORK/submission"
  archive "$WORK/submission" "$NEW/operatorhub-$VERSION.tar.gz"

  step "bills of materials"
  make_sboms

  (cd "$NEW" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >"$WORK/SHA256SUMS")
  mv "$WORK/SHA256SUMS" "$NEW/"
}

# The new release in place of the one that may be there, which is removed last: where a step fails, nothing is lost.
replace_output() {
  check_output
  mkdir -p "$(dirname "$OUTPUT")"
  mv -T "$NEW" "$OUTPUT.new.$$"
  [[ ! -e $OUTPUT ]] || mv -T "$OUTPUT" "$OUTPUT.old.$$"
  mv -T "$OUTPUT.new.$$" "$OUTPUT"
  rm -rf "$OUTPUT.old.$$"
}

# The catalog that is committed names bundles by their tags. This one's is known by more than that.
make_catalog() {
  local file=$WORK/catalog/$PACKAGE/catalog.yaml
  previous_bundle "$WORK/previous" "$RELEASE_IMAGE:$PREVIOUS_VERSION" >"$WORK/said" 2>&1 ||
    { cat "$WORK/said" >&2; die "there is no bundle of $PREVIOUS_COMMIT for the catalog"; }
  scripts/catalog --output "$WORK/catalog" "$WORK/previous" "$WORK/bundle"
  sed -i "s|\(image: \)$RELEASE_IMAGE-bundle:$VERSION\$|\1$1|" "$file"
  grep -q "^image: $1\$" "$file" || die "the catalog does not name $1"
  "$(tool olm opm)" validate "$WORK/catalog" || die "opm does not take the catalog with the bundle by its digest"
  cp "$file" "$NEW/catalog.yaml"
  # What the catalog leads to and this release does not bring has to be published already.
  sed -n "s|^image: \($RELEASE_IMAGE-bundle:.*\)\$|\1|p" "$file" >"$WORK/earlier"
  # shellcheck disable=SC2034
  [[ ! -s $WORK/earlier ]] || STANDS_ON=$(paste -sd' ' "$WORK/earlier")
}

# The manager with its permissions, and the CRDs: kustomize/base and kustomize/crds, with the image by its digest.
make_manifests() {
  local overlay=$WORK/overlay
  mkdir "$overlay"
  cat >"$overlay/kustomization.yaml" <<OVERLAY
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - $(realpath --relative-to "$overlay" kustomize/crds)
  - $(realpath --relative-to "$overlay" kustomize/base)
images:
  - name: multi-operator
    newName: ${1%@*}
    digest: ${1#*@}
OVERLAY
  scripts/kustomize build "$overlay" >"$NEW/install.yaml"
  scripts/kustomize build kustomize/crds >"$NEW/crds.yaml"
  grep -q "image: $1\$" "$NEW/install.yaml" || die "install.yaml does not have the image $1"
}

# archive DIRECTORY FILE: the same files make the same bytes.
archive() {
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$COMMIT_TIME" --format=posix \
    --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --directory "$1" . | gzip --no-name >"$2"
}

# For each program in the manager's image: its crates from crates.io. Written from the commit's files in a directory of their own,
# since the tool writes next to each Cargo.toml.
make_sboms() {
  local root=$CACHE/bin/$SBOM_TOOL-$SBOM_TOOL_VERSION source=$WORK/source program file
  if [[ ! -x $root/bin/$SBOM_TOOL ]]; then
    say "  building $SBOM_TOOL $SBOM_TOOL_VERSION, once"
    # Not from the project's directory: its .cargo/config.toml is for its own programs.
    (cd "$WORK" && CARGO_TARGET_DIR=$WORK/sbom-target cargo install --quiet --locked --root "$root" \
      --version "$SBOM_TOOL_VERSION" "$SBOM_TOOL") >&2 ||
      die "$SBOM_TOOL $SBOM_TOOL_VERSION could not be built"
  fi
  mkdir "$source"
  repository archive HEAD | tar -x -C "$source"
  for program in manager agent; do
    # With a time given the tool leaves out what is different at each run.
    (cd "$source/operators/$program" && PATH=$root/bin:$PATH SOURCE_DATE_EPOCH=$COMMIT_TIME \
      cargo cyclonedx --quiet --format json --target "$(rust_target "${RELEASE_ARCHITECTURES%% *}")" --no-build-deps --override-filename sbom) >&2 ||
      die "there is no bill of materials for $program"
    file=$NEW/$program-$VERSION.cdx.json
    # The build machine's paths must not appear.
    sed "s|file://$source|file:///$PACKAGE|g" "$source/operators/$program/sbom.json" >"$file"
    grep -q '"bomFormat": *"CycloneDX"' "$file" || die "$file is no CycloneDX document"
    ! grep -q "$WORK" "$file" || die "$file names a directory of this machine"
    say "  $(basename "$file"): $(grep -c '"purl": *"pkg:cargo/' "$file") packages"
  done
}
