# shellcheck shell=bash
# The images that OLM starts pods of when a catalog is published as an image: its own utilities, opm, the catalog, and the
# bundles. Laid out as the official ones.

OLM_UTIL_IMAGE=localhost/olm-util:v0.40.0
OPM_IMAGE=localhost/opm:v1.63.0

# What copies a bundle out of its image. `cp` is BusyBox's, which needs no library.
olm_util_image() {
  local tar folder
  ensure_tools olm-images cpb
  tar=$IMAGES/olm-util-$( (printf '%s' "$OLM_UTIL_IMAGE" && declare -f olm_util_image && family_folder olm-images &&
    image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    folder=$(mktemp -d)
    debian_files "$folder" trixie busybox-static busybox
    write_image "$tar" --name "$OLM_UTIL_IMAGE" --file "$folder/busybox:/bin/busybox:755" --symlink busybox:/bin/cp \
      --file "$(tool olm-images cpb):/bin/cpb:755" --env PATH=/bin --user 1001:0
    rm -r "$folder"
  fi
  printf '%s' "$tar"
}

# Its probe is a program of our own: the official one's module is not to be had everywhere.
opm_image() {
  local tar
  ensure_tools olm opm
  ensure_tools ours grpc_health_probe
  tar=$IMAGES/opm-$( (printf '%s' "$OPM_IMAGE" && declare -f opm_image && family_folder olm &&
    sha256sum <"$(tool ours grpc_health_probe)" &&
    image_writer) | key_of).tar
  [[ -s $tar ]] || write_image "$tar" --name "$OPM_IMAGE" --entrypoint /bin/opm --env PATH=/bin --user 1001:0 --folder /tmp:1777 \
    --file "$(tool olm opm):/bin/opm:755" --file "$(tool ours grpc_health_probe):/bin/grpc_health_probe:755"
  printf '%s' "$tar"
}

# files_of DIRECTORY TARGET MODE: options of write_image for every file below a directory.
files_of() {
  local file
  while IFS= read -r file; do printf '%s\n' --file "$1/$file:$2/$file:$3"; done < <(cd "$1" && find . -type f -printf '%P\n' | sort)
}

# bundle_image DIRECTORY NAME TAR: what bundle.Dockerfile builds.
bundle_image() {
  local options
  mapfile -t options < <(files_of "$1/manifests" /manifests 644 && files_of "$1/metadata" /metadata 644 &&
    sed -nE 's/^  (operators\.operatorframework\.io\.[^:]*): *(.*)$/--label\n\1=\2/p' "$1/metadata/annotations.yaml")
  write_image "$3" --name "$2" "${options[@]}"
}

# catalog_image DIRECTORY NAME TAR [OPM PROBE]: what catalog/Dockerfile builds, with programs that may be another machine's; opm
# of this machine creates the cache. The cache belongs to a group, as on OpenShift a pod's user is in the root group and has a
# random number.
catalog_image() {
  local cache=$3.cache options opm probe
  opm=${4:-$(tool olm opm)}
  probe=${5:-$(tool ours grpc_health_probe)}
  rm -rf "$cache"
  # shellcheck disable=SC2094
  "$(tool olm opm)" serve "$1" --cache-dir "$cache" --cache-only --pprof-addr "" --termination-log "$3.log" >"$3.log" 2>&1 || return 1
  mapfile -t options < <(files_of "$1" /configs 644 && files_of "$cache" /tmp/cache 664)
  write_image "$3" --name "$2" --entrypoint /bin/opm --cmd serve --cmd /configs --cmd --cache-dir=/tmp/cache --env PATH=/bin \
    --label operators.operatorframework.io.index.configs.v1=/configs --user 1001:0 --folder /tmp:1777 \
    --folder /tmp/cache:775 --folder /tmp/cache/pogreb.v1:775 --folder /tmp/cache/pogreb.v1/db:775 \
    --file "$opm:/bin/opm:755" --file "$probe:/bin/grpc_health_probe:755" "${options[@]}"
  rm -rf "$cache" "$3.log"
}
