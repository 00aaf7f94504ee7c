# shellcheck shell=bash
# The image of go-httpbin, laid out as the official one, for the public manifest that runs it (tests/public/10-httpbin.yaml).

httpbin_name() { printf 'docker.io/mccutchen/go-httpbin:%s' "$(family_version httpbin)"; }

httpbin_image() {
  local tar start
  tar=$IMAGES/httpbin-$( (httpbin_name && declare -f httpbin_image && family_folder httpbin && image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    start=$(now_ms)
    say "making $(httpbin_name) from its module"
    ensure_tools httpbin go-httpbin
    write_image "$tar" --name "$(httpbin_name)" --cmd /bin/go-httpbin --file "$(tool httpbin go-httpbin):/bin/go-httpbin:755" \
      --label "org.opencontainers.image.version=$(family_version httpbin)"
    say "built in $(since "$start")"
  fi
  printf '%s' "$tar"
}
