# shellcheck shell=bash
# etcd's images, laid out as the official ones: the programs in /usr/local/bin, no shell, root as the default user.
#
# Old versions are Debian's packages, newer ones are built from the modules pinned in scripts/tools/pins/etcd-<minor>. In both
# cases an image is built only if its programs report the version of its tag.

# Debian's suites, and what they hold.
declare -A DEBIAN_ETCD=([etcd-3.3]='bullseye 3.3.25' [etcd-3.4]='bookworm 3.4.23' [etcd-3.5-old]='trixie 3.5.16')
# shellcheck disable=SC2034
ETCD_IMAGES=(etcd-3.2 etcd-3.3 etcd-3.4 etcd-3.5-old etcd-3.5 etcd-3.6 etcd-3.7)

etcd_version() {
  local version=${DEBIAN_ETCD[$1]:-}
  if [[ -n $version ]]; then
    printf '%s' "${version#* }"
  else
    # Before 3.5 the server was not a module of its own.
    awk '{ i = $1 == "require" ? 2 : 1 } $i == "go.etcd.io/etcd/server/v3" || $i == "github.com/coreos/etcd" {
      sub(/^v/, "", $(i + 1)); sub(/\+incompatible$/, "", $(i + 1)); print $(i + 1); exit
    }' "$(family_module "$1")/go.mod"
  fi
}

etcd_name() { printf 'quay.io/coreos/etcd:v%s' "$(etcd_version "$1")"; }

# Debian's programs ask for a loader and a C library, which loads its resolver when it needs one.
ETCD_PROGRAMS=(etcd etcdctl etcdutl)
ETCD_LOADER=ld-linux-x86-64.so.2
ETCD_LIBRARIES=("$ETCD_LOADER" libc.so.6 libpthread.so.0 libdl.so.2 libresolv.so.2 libnss_files.so.2 libnss_dns.so.2)

# Prints the version that the programs in a directory say they have, or what they say instead.
etcd_says() {
  local folder=$1 run=() server client
  [[ ! -e $folder/$ETCD_LOADER ]] || run=("$folder/$ETCD_LOADER" --library-path "$folder")
  server=$("${run[@]}" "$folder/etcd" --version | sed -n 's/^etcd Version: //p') || true
  client=$(ETCDCTL_API=3 "${run[@]}" "$folder/etcdctl" version | sed -n 's/^etcdctl version: //p') || true
  if [[ -n $server && $server == "$client" ]]; then printf '%s' "$server"; else printf 'etcd "%s" and etcdctl "%s"' "$server" "$client"; fi
}

# etcd_image NAME
etcd_image() {
  local image=$1 suite=${DEBIAN_ETCD[$1]:-} name version found tar folder made program library start files=()
  name=$(etcd_name "$image") version=$(etcd_version "$image") suite=${suite% *}
  tar=$IMAGES/$image-$( (printf '%s\n' "$suite" "$name" "${ETCD_PROGRAMS[*]}" "${ETCD_LIBRARIES[*]}" &&
    declare -f debian_files etcd_image && { [[ -n $suite ]] || family_folder "$image"; } && image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    start=$(now_ms)
    mkdir -p "$IMAGES"
    say "making $name from ${suite:+Debian }${suite:-its modules}"
    made=$(mktemp -d "$IMAGES/$image.XXXXXX")
    trap 'rm -rf "${made:-}"' EXIT
    if [[ -n $suite ]]; then
      folder=$made
      debian_files "$folder" "$suite" etcd-server,etcd-client "${ETCD_PROGRAMS[@]}" "${ETCD_LIBRARIES[@]}"
    else
      # etcdutl came with 3.5.
      if [[ $image == etcd-3.2 ]]; then ensure_tools "$image" etcd etcdctl; else ensure_tools "$image" "${ETCD_PROGRAMS[@]}"; fi
      folder=$(family_folder "$image")
    fi
    found=$(etcd_says "$folder")
    [[ $found == "$version" ]] || die "$image should be $version and is $found${suite:+: correct DEBIAN_ETCD in scripts/images.d/etcd.sh}"
    for program in "${ETCD_PROGRAMS[@]}"; do
      [[ ! -e $folder/$program ]] || files+=(--file "$folder/$program:/usr/local/bin/$program:755")
    done
    for library in "${ETCD_LIBRARIES[@]}"; do
      [[ ! -e $folder/$library ]] || files+=(--file "$folder/$library:/lib/x86_64-linux-gnu/$library:755")
    done
    [[ -z $suite ]] || files+=(--symlink "/lib/x86_64-linux-gnu/$ETCD_LOADER:/lib64/$ETCD_LOADER")
    printf 'hosts: files dns\n' >"$made/nsswitch.conf"
    write_image "$tar" --name "$name" --cmd /usr/local/bin/etcd --workdir /var/lib/etcd \
      "${files[@]}" --file "$made/nsswitch.conf:/etc/nsswitch.conf:644" --folder /tmp:1777 --folder /var/lib/etcd:755 \
      --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin --label "org.opencontainers.image.version=$version"
    rm -rf "$made"
    say "built in $(since "$start")"
  fi
  printf '%s' "$tar"
}
