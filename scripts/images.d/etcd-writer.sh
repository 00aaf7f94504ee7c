# shellcheck shell=bash
# The image of tests/writer, which end-to-end tests run beside an EtcdCluster.

WRITER_IMAGE=localhost/etcd-writer:dev

etcd_writer_image() {
  local writer tar packages=(etcd-writer)
  # Together with the manager, whose dependencies it shares if both are built with the same features of them.
  [[ -n ${MANAGER_BINARY:-} ]] || packages+=(manager agent)
  say "building etcd-writer (profile $MANAGER_PROFILE)"
  writer=$(static_binaries "${packages[@]}")/etcd-writer
  require_static "$writer"
  tar=$IMAGES/etcd-writer-$( (sha256sum <"$writer" && printf '%s' "$WRITER_IMAGE" && declare -f etcd_writer_image &&
    family_folder oci-image) | key_of).tar
  [[ -s $tar ]] || write_image "$tar" --name "$WRITER_IMAGE" --user 65532:65532 --entrypoint /etcd-writer \
    --file "$writer:/etcd-writer:755" --label org.opencontainers.image.title=etcd-writer
  printf '%s' "$tar"
}
