# shellcheck shell=bash
# What a change can affect: which stages, and of the Rust packages those that changed and those that depend on them.

# only_changed COMMIT: narrows STAGES_WANTED and PACKAGES.
only_changed() {
  local files stages=() packages name
  git rev-parse --quiet --verify "$1^{commit}" >/dev/null || die "--changed $1: git knows no such commit"
  files=$(git diff --name-only "$1" -- && git ls-files --others --exclude-standard)
  [[ -n $files ]] || { STAGES_WANTED=(); return; }
  packages=$(affected_packages "$files") || exit 1
  for name in "${STAGES_WANTED[@]}"; do ! is_affected "$name" "$files" "$packages" || stages+=("$name"); done
  STAGES_WANTED=("${stages[@]}")
  if [[ -n $packages && $packages != everything ]]; then
    PACKAGES=()
    for name in $packages; do PACKAGES+=(--package "$name"); done
    say "changed since $1, with what depends on it: $(paste -s -d ' ' <<<"$packages")"
  fi
}

# is_affected STAGE FILES PACKAGES
is_affected() {
  case $1 in
    spelling) return 0 ;;
    shell) grep -qE '^(scripts|benches|\.ci|\.shellcheckrc)' <<<"$2" ;;
    go-checks) grep -qE '\.go$|go\.(mod|sum)$' <<<"$2" ;;
    generated) [[ -n $3 ]] || grep -qE '^(config|bundle|catalog)/' <<<"$2" ;;
    format | ignored) grep -q '\.rs$' <<<"$2" ;;
    *) [[ -n $3 ]] ;;
  esac
}

# affected_packages FILES: the packages that these files belong to and all that depend on them, one a line; "everything" if
# a file decides about all; nothing if no file is of a package.
affected_packages() {
  local file folder names='' name
  while read -r file; do
    case $file in
      Cargo.toml | Cargo.lock | .cargo/* | clippy.toml | rustfmt.toml | rust-toolchain.toml) printf everything; return ;;
      operators/*/* | tests/random-databases/* | tests/real-postgres/* | tests/seed/* | tests/writer/*) folder=$(cut -d/ -f1-2 <<<"$file") ;;
      tests/*) folder=tests ;;
      *) continue ;;
    esac
    [[ -f $folder/Cargo.toml ]] || continue
    name=$(sed -n '/^\[package\]/,/^\[/s/^name = "\(.*\)"$/\1/p' "$folder/Cargo.toml")
    names+="$name"$'\n'
  done <<<"$1"
  sort -u <<<"$names" | while read -r name; do [[ -z $name ]] || dependents "$name"; done | sort -u
}

# dependents PACKAGE: it and the packages of this workspace that depend on it: those that cargo shows with a directory.
dependents() {
  cargo tree --workspace --invert "$1" --prefix none --edges normal,build,dev --format '{p}' |
    sed -nE 's/^([^ ]+) v[^ ]+ \(\/[^ ]*\).*/\1/p' | sort -u
}
