# shellcheck shell=bash
# The image of tests/writer, which end-to-end tests run next to an EtcdCluster.

WRITER_IMAGE=localhost/etcd-writer:dev

etcd_writer_image() {
  local writer=${MANAGER_BINARY:-} tar
  # Next to the manager, if that was built with all the rest; else together with it, as they share dependencies then.
  writer=${writer%/*}/etcd-writer
  if [[ -z ${MANAGER_BINARY:-} || ! -x $writer ]]; then
    say "building etcd-writer (profile $MANAGER_PROFILE)"
    writer=$(static_binaries etcd-writer manager agent)/etcd-writer
  fi
  require_static "$writer"
  tar=$IMAGES/etcd-writer-$( (sha256sum <"$writer" && printf '%s' "$WRITER_IMAGE" && declare -f etcd_writer_image &&
    image_writer) | key_of).tar
  [[ -s $tar ]] || write_image "$tar" --name "$WRITER_IMAGE" --user 65532:65532 --entrypoint /etcd-writer \
    --file "$writer:/etcd-writer:755" --label org.opencontainers.image.title=etcd-writer
  printf '%s' "$tar"
}
