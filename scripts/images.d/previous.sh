# shellcheck shell=bash
# What an earlier commit of this repository was: its files, and the manager's image built from them. So that an upgrade in a
# test goes from one program to another, and not from a program to itself under another tag.

# Prints the folder with the files of PREVIOUS_COMMIT.
previous_source() {
  local root=$SCRIPTS/.. folder=$CACHE/source/$PREVIOUS_COMMIT
  if [[ ! -e $folder/Cargo.lock ]]; then
    git -C "$root" cat-file -e "$PREVIOUS_COMMIT^{commit}" 2>/dev/null ||
      die "the commit $PREVIOUS_COMMIT is not in this clone: git fetch --unshallow"
    rm -rf "$folder" "$folder.new"
    mkdir -p "$folder.new"
    git -C "$root" archive "$PREVIOUS_COMMIT" | tar -x -C "$folder.new"
    mv "$folder.new" "$folder"
  fi
  printf '%s' "$folder"
}

# Built once: a commit does not change. It shares the target folder with this checkout, and with it all dependencies that
# both have; whoever builds the manager of this checkout afterwards gets that one again.
previous_manager_image() {
  local name=$MANAGER_IMAGE:$PREVIOUS_TAG source target binaries made tar
  tar=$IMAGES/manager-previous-$( (printf '%s\n' "$PREVIOUS_COMMIT" "$name" "$MANAGER_PROFILE" && declare -f image_of_manager &&
    family_folder oci-image) | key_of).tar
  if [[ ! -s $tar ]]; then
    source=$(previous_source)
    target=$(cd "$SCRIPTS/.." && cargo metadata --no-deps --format-version 1 | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
    say "building the manager of $PREVIOUS_COMMIT (profile $MANAGER_PROFILE)"
    binaries=$(SCRIPTS=$source/scripts MANAGER_FEATURES='' CARGO_TARGET_DIR=$target static_binaries manager agent)
    made=$(image_of_manager "$name" "$binaries/manager" "$binaries/agent")
    mv "$made.digest" "$tar.digest"
    mv "$made" "$tar"
  fi
  printf '%s' "$tar"
}
