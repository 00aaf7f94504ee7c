# shellcheck shell=bash
# Schemas to judge by, out of the modules of schemas.txt, once for each state of that file.

# fetch_schemas: prints the directory, which has openapi/ and crds/.
fetch_schemas() {
  local list=scripts/check-kustomize.d/schemas.txt folder temporary
  folder=$CACHE/schemas/$(sha256sum "$list" | cut -c1-10)
  if [[ ! -d $folder ]]; then
    require_go
    temporary=$folder.partial.$$
    rm -rf "$temporary"
    mkdir -p "$temporary/openapi" "$temporary/crds"
    say "fetching schemas, once"
    grep -v '^#' "$list" | while read -r module version sum kind files; do
      copy_schemas "$module" "$version" "$sum" "$files" "$temporary/$kind"
    done
    mv "$temporary" "$folder"
  fi
  printf '%s' "$folder"
}

# copy_schemas MODULE VERSION SUM FILES DIRECTORY. FILES may have braces and stars; each pattern has to match.
copy_schemas() {
  local said source file
  # Not in a module's directory: what one of those requires is not asked here.
  said=$(cd "$CACHE" && GOFLAGS=-mod=mod GOWORK=off go mod download -json "$1@$2") || die "the module $1 $2 cannot be had: $said"
  [[ $said == *"\"Sum\": \"$3\""* ]] || die "the module $1 $2 is not the one of scripts/check-kustomize.d/schemas.txt: $said"
  source=$(sed -n 's/.*"Dir": "\(.*\)".*/\1/p' <<<"$said")
  # The braces are of a file of this project.
  for file in $(eval "printf '%s\n' $source/$4"); do
    [[ -f $file ]] || die "the module $1 $2 has no ${file#"$source"/}"
    cp --no-preserve=mode "$file" "$5/"
  done
}
