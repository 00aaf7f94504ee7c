# shellcheck shell=bash
# What must be true of a commit before it is released, and of a registry before it gets anything.

cargo_version() { sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml; }

# The user who runs this may be another one than the clone's.
repository() { git -c safe.directory="$PWD" "$@"; }

# That what is built is what the tag says, and nothing besides.
check_commit() {
  local tag=v$VERSION dirty tagged
  COMMIT=$(repository rev-parse HEAD) || die "this is no clone of a repository, so the commit of the release is unknown"
  # What files.sh writes into archives.
  # shellcheck disable=SC2034
  COMMIT_TIME=$(repository log -1 --format=%ct)
  tagged=$(repository rev-parse --quiet --verify "refs/tags/$tag^{commit}") || true
  if [[ -z $tagged ]]; then
    object "there is no tag $tag (git tag --annotate $tag)"
  elif [[ $tagged != "$COMMIT" ]]; then
    object "the tag $tag is on $tagged, and $COMMIT is checked out"
  fi
  dirty=$(repository status --porcelain)
  [[ -z $dirty ]] || object "the tree is not as committed: $(wc -l <<<"$dirty") files, ${dirty%%$'\n'*} first"
  [[ $(repository rev-parse --is-shallow-repository) == false ]] ||
    object "this clone is a shallow one, and CRDs are compared with those of earlier releases: git fetch --unshallow --tags"
  if [[ -f CHANGELOG.md ]] && ! grep -qE "^## \[?$VERSION(\]|[[:space:]]|\$)" CHANGELOG.md; then
    object "CHANGELOG.md has no heading '## $VERSION'"
  fi
  [[ $RELEASE_IMAGE != *example.com/* ]] ||
    object "RELEASE_IMAGE of scripts/names.env is $RELEASE_IMAGE, an example: a release needs a registry of its own there"
}

# What is in OUTPUT is replaced, so it has to be a release of this project and nothing else.
check_output() {
  local known other
  [[ -e $OUTPUT ]] || return 0
  [[ -d $OUTPUT ]] || die "$OUTPUT is no directory"
  known=$(sed -n 's/^[0-9a-f]\{64\}  //p' "$OUTPUT/SHA256SUMS" 2>/dev/null) || true
  other=$(find "$OUTPUT" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort |
    grep -vxF -m 1 -f <(printf '%s\n' SHA256SUMS SHA256SUMS.sigstore.json "$known")) || true
  [[ -z $other ]] ||
    die "$OUTPUT has '$other', which is of no release: --output takes a directory that is new, empty, or an earlier release"
}

# What is generated is that of this commit, and the catalog offers this version.
check_sources() {
  xtask generate --check || die "generated files are not those of this commit: cargo xtask generate, and commit"
  scripts/check-bundle || die "the bundle does not pass"
  grep -q "^ *image: $RELEASE_IMAGE-bundle:$VERSION\$" catalog/template.yaml ||
    die "catalog/template.yaml has no bundle $RELEASE_IMAGE-bundle:$VERSION: a channel has to lead to it"
}

# A directory of an earlier run, perhaps on another machine.
check_built() {
  [[ -f $OUTPUT/SHA256SUMS ]] || die "$OUTPUT has no SHA256SUMS: a run with --dry-run builds a release there"
  (cd "$OUTPUT" && sha256sum --check --quiet --strict SHA256SUMS >&2) || die "$OUTPUT was changed after it was built"
  grep -qx "commit $COMMIT" "$OUTPUT/commit.txt" || die "$OUTPUT is of another commit: $(cat "$OUTPUT/commit.txt")"
  ! grep -qx 'manager given' "$OUTPUT/commit.txt" ||
    object "the manager in $OUTPUT is not as a release has it (MANAGER_BINARY, MANAGER_FEATURES or MANAGER_PROFILE was set)"
}

# check_earlier FILE: the registry has the bundles that the catalog, or its template, names and this release does not bring. A
# registry that gives no answer (401, 429, 5xx) is in the way too: a channel that leads nowhere cannot be changed afterward.
check_earlier() {
  local names earlier missing
  # A trial's registry has none of them.
  [[ -z $PUSH_TO ]] || return 0
  names=$(earlier_bundles "$1") || die "$1 cannot be read"
  [[ -n $names ]] || return 0
  mapfile -t earlier <<<"$names"
  missing=$(release_images exists "${earlier[@]}" 2>"$WORK/said") ||
    die "cannot determine whether the registry has ${earlier[*]}: $(tail -n 1 "$WORK/said")"
  [[ -z $missing ]] ||
    die "the catalog leads to ${missing//$'\n'/ }, which was never published: take it out of catalog/template.yaml"
}

# By tags: the bundle of this release is named by its digest in the catalog, and by its version in the template.
earlier_bundles() { sed -n "\|:$VERSION\$|d; s|^ *image: \($RELEASE_IMAGE-bundle:.*\)\$|\1|p" "$1"; }

# Who publishes can do it all, before anything is pushed: half a release is worse than none.
check_publishing() {
  local name
  for name in manager bundle catalog; do
    "$(tool ours release-images)" may-push "$(pushed_name "$name")" 2>"$WORK/said" ||
      die "the registry does not take $(pushed_name "$name"): log in first (docker login HOST)." \
        "It says: $(tail -n 1 "$WORK/said")"
  done
  check_earlier catalog/template.yaml
  if [[ $SIGN == yes ]]; then
    command -v cosign >/dev/null || die "cosign signs the release, and is not on PATH"
    [[ -n ${ACTIONS_ID_TOKEN_REQUEST_TOKEN:-}${SIGSTORE_ID_TOKEN:-} ]] || [[ -t 0 ]] ||
      die "cosign needs an identity: the permission id-token: write on GitHub, SIGSTORE_ID_TOKEN, or a person at a terminal"
  fi
  if [[ $GITHUB_RELEASE == yes ]]; then
    command -v gh >/dev/null || die "--github needs gh, which is not on PATH"
    gh auth status >/dev/null 2>&1 || die "gh is not logged in: GH_TOKEN is what it takes"
  fi
}
