# shellcheck shell=bash
# An earlier commit of this repository: its files, and the manager's image built from them, so that an upgrade in a test replaces
# one program by another, and not by itself under another tag.

# Prints the directory with the files of PREVIOUS_COMMIT.
previous_source() { source_of "$PREVIOUS_COMMIT"; }

# source_of COMMIT: prints the directory with its files.
source_of() {
  local folder=$CACHE/source/$1 git
  # The user who runs this as root may read another user's clone.
  git=(git -c safe.directory='*' -C "$SCRIPTS/..")
  if [[ ! -e $folder/Cargo.lock ]]; then
    require_programs git:git
    # A shallow clone has the rest where it came from.
    "${git[@]}" cat-file -e "$1^{commit}" 2>/dev/null || "${git[@]}" fetch --quiet --unshallow 2>/dev/null ||
      die "the commit $1 is not in this clone: git fetch --unshallow"
    rm -rf "$folder" "$folder.new"
    mkdir -p "$folder.new"
    "${git[@]}" archive "$1" | tar -x -C "$folder.new"
    mv "$folder.new" "$folder"
  fi
  printf '%s' "$folder"
}

# copy_dependencies FROM TO PACKAGE...: a target directory with other projects' crates, already built, without these packages.
# Cargo identifies a workspace's own packages by their paths in it and by their files' times, so in a shared directory it would
# take one commit's for another's.
copy_dependencies() {
  local from=$1 to=$2 part package profile=$MANAGER_PROFILE
  shift 2
  [[ $profile != dev ]] || profile=debug
  for part in "$profile" "$RUST_TARGET/$profile"; do
    [[ -d $from/$part/.fingerprint ]] || continue
    mkdir -p "$to/$part"
    cp -a --reflink=auto "$from/$part/.fingerprint" "$from/$part/deps" "$from/$part/build" "$to/$part/"
    for package in "$@"; do rm -rf "$to/$part/.fingerprint/$package"-*; done
  done
}

# same_dependencies SOURCE: lets that commit compile its dependencies as this one does, so that those it copies fit.
same_dependencies() {
  local ours=$SCRIPTS/../Cargo.toml theirs=$1/.cargo/config.toml
  grep -q '^\[profile\.dev\.package\]' "$theirs" || sed -n '/^\[profile\.dev\.package\]/,/^$/p' "$ours" >>"$theirs"
}

# Built once: a commit does not change.
previous_manager_image() {
  local name=$MANAGER_IMAGE:$PREVIOUS_TAG source metadata packages target binaries made tar
  tar=$IMAGES/manager-previous-$( (printf '%s\n' "$PREVIOUS_COMMIT" "$name" "$MANAGER_PROFILE" && declare -f image_of_manager &&
    image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    rust_environment
    source=$(previous_source)
    metadata=$(cd "$SCRIPTS/.." && cargo metadata --no-deps --format-version 1)
    target=$source.target
    rm -rf "$target"
    mapfile -t packages < <(grep -oE '"name":"[^"]*","version":"[^"]*","id":"path' <<<"$metadata" | cut -d'"' -f4)
    [[ $MANAGER_PROFILE != dev ]] || same_dependencies "$source"
    copy_dependencies "$(sed -E 's/.*"target_directory":"([^"]*)".*/\1/' <<<"$metadata")" "$target" "${packages[@]}"
    say "building the manager of $PREVIOUS_COMMIT (profile $MANAGER_PROFILE)"
    binaries=$(SCRIPTS=$source/scripts MANAGER_FEATURES='' MANAGER_BINARY='' CARGO_TARGET_DIR=$target static_binaries manager agent)
    made=$(image_of_manager "$name" "$binaries/manager" "$binaries/agent")
    mv "$made.digest" "$tar.digest"
    mv "$made" "$tar"
    rm -rf "$target"
  fi
  printf '%s' "$tar"
}
