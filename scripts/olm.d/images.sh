# shellcheck shell=bash
# The same catalog as it is published: an image, whose pod serves it, and which names the bundles by their images, each of
# which a Job unpacks. There is no registry to pull from: all are loaded into the cluster beforehand.

CATALOG_IMAGE_SOURCE=multi-operator-catalog-image

# load_by_digest NAME TAR: prints the name by which pods ask for it. It has a digest, since OLM has an image with a tag pulled
# each time.
load_by_digest() {
  local name=$1 tar=$2 reference
  reference=${name%:*}@$(cat "$tar.digest") || return 1
  load_image "$tar" && ctr_images tag --force "$name" "$reference" >/dev/null && printf '%s' "$reference"
}

# serve_catalog_image BUNDLES: a directory with the bundles `previous` and `current`.
serve_catalog_image() {
  local bundles=$1 work=$1.images version bundle reference expressions=() begin
  begin=$(now_ms)
  mkdir -p "$work/published"
  load_image "$(olm_util_image)"
  load_image "$(opm_image)"
  for bundle in previous current; do
    version=$(sed -nE "s/^  version: '?\"?([0-9][^'\"]*).*/\1/p" "$bundles/$bundle"/manifests/*.clusterserviceversion.yaml)
    bundle_image "$bundles/$bundle" "localhost/multi-operator-bundle:$version" "$work/$bundle.tar"
    reference=$(load_by_digest "localhost/multi-operator-bundle:$version" "$work/$bundle.tar") || die "containerd refused the bundle $version"
    expressions+=(-e "s|[^ ]*/multi-operator-bundle:${version//./\\.}\$|$reference|")
  done
  "$SCRIPTS/catalog" --output "$work/published" "$bundles/previous" "$bundles/current"
  sed -i "${expressions[@]}" "$work/published/multi-operator/catalog.yaml"
  [[ $(grep -c '^image: localhost/multi-operator-bundle@sha256:' "$work/published/multi-operator/catalog.yaml") == 2 ]] ||
    die "the published catalog does not name the bundles' images"
  catalog_image "$work/published" localhost/multi-operator-catalog:local "$work/catalog.tar" || die "there is no image of the catalog"
  reference=$(load_by_digest localhost/multi-operator-catalog:local "$work/catalog.tar") || die "containerd refused the catalog"
  [[ $(kubectl_admin get catalogsource "$CATALOG_IMAGE_SOURCE" --namespace "$OLM_NAMESPACE" --ignore-not-found \
    --output 'jsonpath={.spec.image}') == "$reference" ]] || forget_catalog "$CATALOG_IMAGE_SOURCE"
  apply --filename - <<OBJECT
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: $CATALOG_IMAGE_SOURCE, namespace: $OLM_NAMESPACE}
spec:
  sourceType: grpc
  image: $reference
  displayName: multi-operator, as published
  publisher: multi-operator
  grpcPodConfig: {securityContextConfig: restricted}
OBJECT
  poll 120 "OLM to read the catalog's pod" catalog_is_read "$CATALOG_IMAGE_SOURCE" || die "its log: scripts/cluster logs catalog --name $NAME"
  say "  the catalog's pod serves after $(since "$begin")"
}
