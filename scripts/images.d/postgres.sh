# shellcheck shell=bash
# PostgreSQL's images, laid out like the official ones: user postgres with uid and gid 999, the programs of the major
# version in /usr/lib/postgresql/<major>/bin and on PATH, PGDATA, a socket directory that every user may write, nss_wrapper
# for users without an entry, and listen_addresses = '*' in the sample that initdb copies. As there, the image names no
# user (pods do), and /usr/bin has Debian's wrappers of the clients.
#
# Left out, and there in the official ones: docker-entrypoint.sh with what it needs (gosu, xz, zstd; the operator always
# says what is run), the locale en_US.utf8 (LANG is C.UTF-8 here), VOLUME (a runtime puts an empty writable volume where it
# says, PGDATA), and just-in-time compilation: LLVM is larger than all the rest. A server without llvmjit.so does not
# compile, whatever `jit` says.
#
# Debian's security updates move on, so the versions are those found when an image is built, and its tags match the content:
# :<version> always, :<major> for the newest of its major. Next to <tar> is <tar>.names with all names, one a line.
# postgres-15-old and postgres-15 are a minor update as users see it: what bookworm was last released with (that is
# fixed, there are no more point releases of it) and its newest security update.

# The suite, and "updated" where its security updates count.
declare -A DEBIAN_POSTGRES=([postgres-13]='bullseye updated' [postgres-15-old]='bookworm released'
  [postgres-15]='bookworm updated' [postgres-17]='trixie updated')
# shellcheck disable=SC2034
POSTGRES_IMAGES=(postgres-13 postgres-15-old postgres-15 postgres-17)

# What the operator and its Jobs call: no image is built if one of them is missing or of another version.
POSTGRES_PROGRAMS=(initdb postgres pg_ctl pg_controldata pg_resetwal pg_upgrade pg_rewind pg_dump pg_dumpall pg_restore psql
  pg_basebackup pg_verifybackup pg_isready)

# The user has to exist before postgresql-common creates one with another id, and no database may be created in the image.
# shellcheck disable=SC2016
POSTGRES_BEFORE='
  set -e
  echo "postgres:x:999:" >>"$1"/etc/group
  echo "postgres:*::" >>"$1"/etc/gshadow
  echo "postgres:x:999:999::/var/lib/postgresql:/bin/bash" >>"$1"/etc/passwd
  echo "postgres:*:19000:0:99999:7:::" >>"$1"/etc/shadow
  mkdir -p "$1"/etc/postgresql-common
  echo "create_main_cluster = false" >"$1"/etc/postgresql-common/createcluster.conf
'

# "$1" is the finished system, MAJOR the major version. What only LLVM, package scripts and the generation of other locales need
# is deleted: perl-base is enough for the wrappers in /usr/bin. dpkg's list is updated to match. The manual is deleted here, as
# the package's alternatives insist on it.
# shellcheck disable=SC2016
POSTGRES_HOOK='
  set -e
  own=usr/lib/postgresql/$MAJOR share=usr/share/postgresql/$MAJOR
  gone=$(chroot "$1" dpkg-query --show --showformat "\${Package}\n" |
    grep -E "^(libllvm[0-9.]+|libz3-4|perl|perl-modules-.*|libperl5.*|locales|ssl-cert)\$")
  chroot "$1" dpkg --purge --force-depends $gone
  rm -rf "$1"/$share/man "$1"/etc/ssl/private/* "$1"/etc/ssl/certs/ssl-cert-snakeoil.* "$1"/run/*
  grep -q "^#listen_addresses =" "$1"/$share/postgresql.conf.sample
  sed -i "s/^#listen_addresses = [^ \t]*/listen_addresses = \x27*\x27/" "$1"/$share/postgresql.conf.sample
  install --directory --owner 999 --group 999 --mode 1777 "$1"/var/lib/postgresql "$1"/var/lib/postgresql/data
  install --directory --owner 999 --group 999 --mode 3777 "$1"/run/postgresql

  version=$(chroot "$1" dpkg-query --show --showformat "\${Version}" postgresql-$MAJOR)
  for program in $PROGRAMS; do
    found=$(chroot "$1" /$own/bin/$program --version)
    case $found in
      *" ${version%%-*} "*) ;;
      *) echo "error: $program says \"$found\", and its package is $version" >&2; exit 1 ;;
    esac
  done
  for extension in pgcrypto pg_trgm hstore pg_stat_statements; do test -e "$1"/$own/lib/$extension.so; done
  test -e "$1"/usr/share/zoneinfo/Europe/Berlin
  test "$(chroot "$1" id postgres)" = "uid=999(postgres) gid=999(postgres) groups=999(postgres),$(chroot "$1" id -G postgres | cut -s -d" " -f2)(ssl-cert)"
'

# postgres_rootfs TAR SUITE released|updated MAJOR
postgres_rootfs() {
  local tar=$1 suite=$2 updates=$3 major=$4 log=$CACHE/log/mmdebstrap-postgres-$4.log keys sources=()
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  require_programs "${DEBIAN_PROGRAMS[@]}"
  sources=("deb [signed-by=$keys] $(debian_mirror) $suite main")
  [[ $updates == released ]] || sources+=("deb [signed-by=$keys] $(debian_security_mirror) $suite-security main")
  mkdir -p "$CACHE/log"
  # A suite that is no longer cared for has lists whose time is up.
  # shellcheck disable=SC2016
  SOURCE_DATE_EPOCH=0 MAJOR=$major PROGRAMS=${POSTGRES_PROGRAMS[*]} mmdebstrap --mode=root --variant=essential --include="postgresql-$major,libnss-wrapper" --format=tar \
    --skip=cleanup/run --aptopt='Acquire::Check-Valid-Until "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' --dpkgopt='path-exclude=/usr/lib/postgresql/*/lib/bitcode/*' \
    --dpkgopt='path-exclude=/usr/lib/postgresql/*/lib/llvmjit*' \
    --essential-hook="$POSTGRES_BEFORE" --customize-hook="$POSTGRES_HOOK" \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/cache/debconf/* "$1"/var/log/*.log' \
    "$suite" "$tar" "${sources[@]}" >"$log" 2>&1 </dev/null || {
    tail -n 20 "$log" >&2
    die "mmdebstrap could not make $suite with postgresql-$major: $(reason_in "$log")"
  }
}

# Prints the tar's path. The names are written next to it.
postgres_image() {
  local image=$1 major suite updates tar rootfs version start names name
  major=${image#postgres-} major=${major%-old}
  read -r suite updates <<<"${DEBIAN_POSTGRES[$image]}"
  name=docker.io/library/postgres
  tar=$IMAGES/$image-$( (printf '%s\n' "$suite" "$updates" "$name" "$POSTGRES_BEFORE" "$POSTGRES_HOOK" "${POSTGRES_PROGRAMS[*]}" &&
    declare -f postgres_rootfs postgres_image && image_writer) | key_of).tar
  if [[ ! -s $tar ]]; then
    start=$(now_ms)
    mkdir -p "$IMAGES"
    say "making $name:$major from Debian $suite, as $updates"
    rootfs=$IMAGES/rootfs-$image.$$.tar
    trap 'rm -f "${rootfs:-}"' EXIT
    postgres_rootfs "$rootfs" "$suite" "$updates" "$major"
    version=$(package_version "$rootfs" "postgresql-$major")
    [[ $version == "$major".* ]] || die "$suite's postgresql-$major is $version"
    names=("$name:$version")
    [[ $updates != updated ]] || names+=("$name:$major")
    printf '%s\n' "${names[@]}" >"$tar.names"
    # The same stop signal as the official image's: a fast shutdown.
    write_image "$tar" "${names[@]/#/--name=}" --rootfs "$rootfs" --cmd postgres --stop-signal SIGINT \
      --env PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/$major/bin" \
      --env LANG=C.UTF-8 --env PG_MAJOR="$major" --env PG_VERSION="$version" --env PGDATA=/var/lib/postgresql/data \
      --label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.base.name=debian:$suite"
    rm -f "$rootfs"
    say "built in $(since "$start")"
  fi
  say "$image holds PostgreSQL $(head -n 1 "$tar.names" | sed 's/.*://') (Debian $suite): $(paste -s -d ' ' "$tar.names")"
  printf '%s' "$tar"
}
