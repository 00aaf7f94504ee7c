# shellcheck shell=bash
# The image of versitygw, an S3 server over a directory, for backups in end-to-end tests.

versitygw_name() { printf 'docker.io/versity/versitygw:%s' "$(family_version versitygw)"; }

versitygw_image() {
  local tar start
  tar=$IMAGES/versitygw-$( (versitygw_name && declare -f versitygw_image && family_folder versitygw && image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    start=$(now_ms)
    say "making $(versitygw_name) from its module"
    ensure_tools versitygw versitygw
    write_image "$tar" --name "$(versitygw_name)" --entrypoint /bin/versitygw --file "$(tool versitygw versitygw):/bin/versitygw:755" \
      --label "org.opencontainers.image.version=$(family_version versitygw)"
    say "built in $(since "$start")"
  fi
  printf '%s' "$tar"
}
