# shellcheck shell=bash
# Images of real software without a registry: Debian's packages of one suite in a root file system of their own.
#
# A manifest asks for a tag, and the suite decides the version. Where the two differ, the true one is printed at every
# run and is the image's label org.opencontainers.image.version. It never counts as evidence about the tag's version.

# The mirror of Debian that apt is configured to use, if this machine is one of Debian: Ubuntu's has none of these suites.
debian_mirror() {
  local mirror=
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep -v -- -security | head -n 1) || true
  printf '%s' "${mirror:-http://deb.debian.org/debian}"
}

# The mirror of security updates that apt is configured to use, or the one next to the other mirror.
debian_security_mirror() {
  local mirror='' beside
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep -- -security | head -n 1) || true
  beside=$(debian_mirror)
  printf '%s' "${mirror:-${beside%/}-security}"
}

# debian_rootfs TAR SUITE PACKAGES HOOK...: hooks are commands for the finished system, "$1" being its directory.
debian_rootfs() {
  local tar=$1 suite=$2 packages=$3 hook options=()
  shift 3
  require_programs "${DEBIAN_PROGRAMS[@]}"
  for hook in "$@"; do options+=(--customize-hook="$hook"); done
  mkdir -p "$CACHE/log"
  # shellcheck disable=SC2016
  SOURCE_DATE_EPOCH=0 mmdebstrap --mode=root --variant=essential --include="$packages" --format=tar \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' \
    "${options[@]}" --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/cache/debconf/* "$1"/var/log/*.log' \
    "$suite" "$tar" "$(debian_mirror)" >"$CACHE/log/mmdebstrap-$suite.log" 2>&1 </dev/null || {
    tail -n 20 "$CACHE/log/mmdebstrap-$suite.log" >&2
    die "mmdebstrap could not make $suite with $packages: $(reason_in "$CACHE/log/mmdebstrap-$suite.log")"
  }
}

# debian_files DIRECTORY SUITE PACKAGES FILE...: single programs and libraries of packages that are only unpacked, into a directory.
# Not every suite has all of them.
debian_files() {
  local folder=$1 suite=$2 packages=$3 hook
  shift 3
  require_programs "${DEBIAN_PROGRAMS[@]}"
  printf -v hook '%q ' "$@"
  # Libraries have their links followed, as the names that programs ask for are links in some suites.
  # shellcheck disable=SC2016
  printf -v hook 'for name in %s; do for place in usr/bin lib/x86_64-linux-gnu usr/lib/x86_64-linux-gnu; do
    if [ -e "$1/$place/$name" ]; then cp --dereference "$1/$place/$name" %q || exit 1; fi; done; done' "$hook" "$folder"
  mkdir -p "$CACHE/log"
  mmdebstrap --mode=root --variant=extract --include="$packages" --format=null --extract-hook="$hook" \
    "$suite" - "$(debian_mirror)" >"$CACHE/log/mmdebstrap-$suite.log" 2>&1 </dev/null || {
    tail -n 20 "$CACHE/log/mmdebstrap-$suite.log" >&2
    die "mmdebstrap could not unpack $packages of $suite: $(reason_in "$CACHE/log/mmdebstrap-$suite.log")"
  }
}

# The version of a package as upstream counts it: without Debian's epoch and revision.
package_version() {
  # awk reads to the end: tar fails if its reader ends early.
  tar -xOf "$1" ./var/lib/dpkg/status | awk -v p="$2" '$1 == "Package:" { n = $2 } $1 == "Version:" && n == p { print $2 }' |
    sed -E 's/^[0-9]+://; s/-[^-]*$//; s/\+.*$//'
}

# Laid out as the official image: configuration in conf.d, pages in /usr/share/nginx/html, logs to where a container's go.
# shellcheck disable=SC2016
NGINX_HOOK='
  rm -f "$1"/etc/nginx/sites-enabled/default
  printf "server {\n  listen 80;\n  location / {\n    root /usr/share/nginx/html;\n    index index.html;\n  }\n}\n" >"$1"/etc/nginx/conf.d/default.conf
  ln -sf /dev/stdout "$1"/var/log/nginx/access.log
  ln -sf /dev/stderr "$1"/var/log/nginx/error.log
'

# nginx_image TAG SUITE
nginx_image() {
  local tag=$1 suite=$2 name=docker.io/library/nginx:$1 tar version rootfs start
  tar=$IMAGES/nginx-$tag-$( (printf '%s\n' "$suite" "$name" "$NGINX_HOOK" && declare -f debian_rootfs nginx_image &&
    image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    start=$(now_ms)
    mkdir -p "$IMAGES"
    say "making $name from Debian $suite"
    rootfs=$IMAGES/rootfs-nginx-$tag.$$.tar
    debian_rootfs "$rootfs" "$suite" nginx "$NGINX_HOOK"
    version=$(package_version "$rootfs" nginx)
    printf '%s\n' "$version" >"$tar.version"
    write_image "$tar" --name "$name" --rootfs "$rootfs" --entrypoint nginx --cmd -g --cmd 'daemon off;' --stop-signal SIGQUIT \
      --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      --label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.base.name=debian:$suite"
    rm -f "$rootfs"
    say "built in $(since "$start")"
  fi
  say "$name holds nginx $(cat "$tar.version") (Debian $suite)"
  printf '%s' "$tar"
}
