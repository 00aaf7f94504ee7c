# shellcheck shell=bash
# What a local cluster installs from by OLM: bundles of this checkout and of the commit before, with the images that are loaded
# into the cluster. Used by scripts that continue after failures: so nothing here relies on errexit.

# local_catalog DIRECTORY: a catalog of both.
local_catalog() {
  local work=$1.bundles
  rm -rf "$1" "$work"
  "$SCRIPTS/bundle" --image "$MANAGER_IMAGE:$MANAGER_TAG" --output "$work/current" >&2 || return 1
  previous_bundle "$work/previous" >&2 || return 1
  "$SCRIPTS/catalog" --inline --output "$1" "$work/previous" "$work/current"
}

# previous_bundle DIRECTORY [IMAGE]: the bundle of PREVIOUS_COMMIT: its CRDs, permissions and Deployment, and next to them what people
# wrote for bundles of its kinds later.
previous_bundle() {
  local source manifests config=$1.config
  source=$(previous_source) && manifests=$(source_of "$PREVIOUS_MANIFESTS_COMMIT") || return 1
  rm -rf "$config"
  mkdir -p "$config" && cp -R "$source/config/." "$manifests/config/manifests" "$config/" || return 1
  "$SCRIPTS/bundle" "$PREVIOUS_VERSION" --config "$config" --image "${2:-$MANAGER_IMAGE:$PREVIOUS_TAG}" --output "$1"
}

# local_images CLUSTER: both managers, and what config/samples ask for.
local_images() { "$SCRIPTS/images" --load "$1" nginx-1.25 manager manager-previous etcd-3.6 postgres-17 >/dev/null; }
