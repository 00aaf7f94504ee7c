# shellcheck shell=bash
# The machine's disk: Debian's minimal system, and the checkout.

FRESH_SUITE=bookworm
MARKER=etc/multi-operator-fresh-machine

# base_tar: prints the path of the minimal system, created once.
base_tar() {
  local mirror security tar log=$CACHE/log/fresh-machine.log
  mirror=$(debian_mirror) security=$(debian_security_mirror)
  tar=$CACHE/fresh-machine/$FRESH_SUITE-$( (printf '%s\n' "$mirror" "$security" && declare -f base_tar) | sha256sum | cut -c1-10).tar
  if [[ ! -s $tar ]]; then
    mkdir -p "$CACHE/log" "${tar%/*}"
    say "fresh-machine: downloading Debian $FRESH_SUITE"
    # The lists go: a machine that was just installed has to fetch them.
    # shellcheck disable=SC2016
    mmdebstrap --mode=root --variant=minbase --format=tar \
      --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/log/*' \
      "$FRESH_SUITE" "$tar.new" "deb $mirror $FRESH_SUITE main" "deb $mirror $FRESH_SUITE-updates main" \
      "deb $security $FRESH_SUITE-security main" >"$log" 2>&1 </dev/null || {
      tail -n 20 "$log" >&2
      rm -f "$tar.new"
      die "mmdebstrap could not make $FRESH_SUITE"
    }
    mv "$tar.new" "$tar"
  fi
  printf '%s' "$tar"
}

# Sets ROOT, and TEMPORARY if it has to be deleted.
prepare_root() {
  local tar kept=$ROOT
  if [[ -z $kept ]]; then
    TEMPORARY=yes
    ROOT=$(mktemp -d "${TMPDIR:-/var/tmp}/fresh-machine.XXXXXX")
  else
    mkdir -p "$ROOT"
    ROOT=$(cd "$ROOT" && pwd -P)
  fi
  exec 6<"$ROOT"
  flock --nonblock 6 || die "another scripts/fresh-machine runs in $ROOT"
  [[ ! -e $ROOT/$MARKER ]] || return 0
  [[ -z $(ls -A "$ROOT") ]] || die "$ROOT is neither empty nor a disk that scripts/fresh-machine created"
  tar=$(base_tar)
  # Half a disk is of no use.
  TEMPORARY=yes
  chmod 755 "$ROOT"
  tar --extract --file "$tar" -C "$ROOT" --numeric-owner --xattrs --xattrs-include='*' || die "could not unpack $tar in $ROOT"
  mkdir -p "$ROOT/checkout" "$ROOT/usr/local/go" "$ROOT/usr/local/rust"
  : >"$ROOT/$MARKER"
  # shellcheck disable=SC2034
  [[ -z $kept ]] || TEMPORARY=no
}

# The checkout, its uncommitted files included, as a commit that no branch of it has; a second run changes only the files
# that differ, so that cargo builds no more than it would have to here.
copy_checkout() {
  local source=$SCRIPTS/.. copy=$ROOT/checkout index head tree commit
  head=$(git -C "$source" rev-parse --verify HEAD) || die "the checkout has no commit"
  index=$(mktemp)
  cp "$(git -C "$source" rev-parse --path-format=absolute --git-path index)" "$index"
  tree=$(GIT_INDEX_FILE=$index git -C "$source" add --all && GIT_INDEX_FILE=$index git -C "$source" write-tree)
  rm -f "$index"
  commit=$head
  if [[ $tree != "$(git -C "$source" rev-parse "$head^{tree}")" ]]; then
    commit=$(GIT_AUTHOR_NAME=fresh-machine GIT_AUTHOR_EMAIL='' GIT_COMMITTER_NAME=fresh-machine GIT_COMMITTER_EMAIL='' \
      git -C "$source" commit-tree -p "$head" -m "Uncommitted changes" "$tree")
  fi
  [[ -e $copy/.git ]] || git init --quiet "$copy"
  git -C "$source" push --quiet --no-verify --force "$copy/.git" "$commit:refs/heads/fresh-machine-given"
  git -C "$copy" checkout --quiet --force --detach fresh-machine-given
}
