# shellcheck shell=bash
# What the machine takes over from the host: how package managers reach their registries. The names of the settings are
# known here, the values are not.

# Files in HOME, if there.
HOME_FILES=(.cargo/config.toml .cargo/config .config/go/env .config/pip/pip.conf .pip/pip.conf .npmrc)
# Files of the system, if there: what update-ca-certificates reads and writes, name resolution, and package managers.
SYSTEM_FILES=(/etc/ssl/certs/ca-certificates.crt /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /etc/apt/auth.conf)

# Sets PASSED to the names of the variables that the machine's environment takes over.
pass_configuration() {
  local name file
  mapfile -t PASSED < <(compgen -e | grep -E '^([a-z]+_proxy|[A-Z]+_PROXY)$|(^|_)CA_|CAINFO$|^SSL_CERT_|_CA_?CERTS$|^PIP_CERT$' || true
    compgen -e | grep -E '^(CARGO_(HTTP|NET|REGISTR[A-Z]+)_|RUSTUP_DIST_|PIP_[A-Z_]*(INDEX|HOST|LINKS)|(NPM_CONFIG|npm_config)_)' || true
    compgen -e | grep -xE 'GOPROXY|GOSUMDB|GONOSUMDB|GONOPROXY|GOPRIVATE|GOINSECURE|GONOSUMCHECK|GOVCS|GOAUTH|TERM|LANG' || true)
  mkdir -p "$ROOT/root" "$ROOT/usr/local/share"
  for file in "${HOME_FILES[@]}"; do
    [[ ! -f $HOME/$file ]] || install -D --mode 600 "$HOME/$file" "$ROOT/root/$file"
  done
  for file in "${SYSTEM_FILES[@]}"; do pass_file "$file"; done
  # A setting may be the name of a file.
  for name in "${PASSED[@]}"; do pass_file "${!name}"; done
  rm -rf "$ROOT/usr/local/share/ca-certificates"
  [[ ! -d /usr/local/share/ca-certificates ]] || cp -a /usr/local/share/ca-certificates "$ROOT/usr/local/share/"
  pass_apt
}

pass_file() {
  [[ $1 != /* || ! -f $1 ]] || install -D --mode 644 "$1" "$ROOT$1"
}

# How apt reaches its mirror, without the host's hooks and its other repositories.
pass_apt() {
  local file
  apt-config dump | grep -E '^Acquire::((http|https|ftp|socks5h?)(::|-)|Retries|ForceIPv|AllowInsecure)' \
    >"$ROOT/etc/apt/apt.conf.d/99host" || true
  sed -nE 's/^.* "(\/.*)";$/\1/p' "$ROOT/etc/apt/apt.conf.d/99host" | while IFS= read -r file; do pass_file "$file"; done
  for file in /etc/apt/auth.conf.d/*; do pass_file "$file"; done
}
