# shellcheck shell=bash
# Installs by OLM, on a cluster of their own.

# Two versions of the operator in a catalog, OLM, and what the samples run.
olm_cluster() {
  own_cluster "$OLM_CLUSTER" "${VERSION[@]}"
  if [[ -n $OURS ]]; then
    scripts/olm up --name "$OURS" --local
  else
    say "it must have OLM, a CatalogSource olm/multi-operator-catalog of both versions in catalog/template.yaml, with managers" \
      "of two commits, and the images that config/samples name"
  fi
}

olm() {
  run "olm build" cargo test "${LOCKED[@]}" --quiet -p e2e --test olm --no-run || return
  run "olm catalog" scripts/catalog --check
  run "olm cluster" olm_cluster || return
  run "olm installs" suite olm --test-threads=1 --show-output
}
