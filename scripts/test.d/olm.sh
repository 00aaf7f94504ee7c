# shellcheck shell=bash
# Installs by OLM. A cluster has room for one install at a time, so half of the tests have a cluster of their own. With another
# manager deployed, an install by OLM would yield to it.

# What the first half is; whatever else there is belongs to the second.
FIRST_HALF=(lifecycle:: modes::)

# Two versions of the operator in a catalog, OLM, and what the samples run.
olm_cluster() {
  suite_cluster "$1" || return
  await_stage build || return
  if [[ -n $OURS ]]; then
    scripts/olm up --name "$OURS" --local
  else
    say "it must have OLM, a CatalogSource olm/multi-operator-catalog of both versions in catalog/template.yaml, with managers" \
      "of two commits, and the images that config/samples name"
  fi
}

olm() {
  ((${#FILTERS[@]})) || local FILTERS=("${FIRST_HALF[@]}")
  olm_cluster olm && suite olm --test-threads=1
}

olm_2() {
  local module others=()
  for module in "${FIRST_HALF[@]}"; do others+=(--skip "$module"); done
  scripts/catalog --check && olm_cluster olm-2 && suite olm --test-threads=1 "${others[@]}"
}
