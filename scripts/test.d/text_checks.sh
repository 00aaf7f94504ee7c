# shellcheck shell=bash
# Checks of files that are no Rust: no root, no cluster.

# The table at the top of scripts/README.md names each script once, and nothing else.
script_table() {
  local differences
  # shellcheck disable=SC2016
  differences=$(diff <(git ls-files --cached --others --exclude-standard -- 'scripts/*' | grep -x 'scripts/[^/]*' | grep -vx scripts/README.md | sort) \
    <(sed -n '1,/^## /s/^| `\(scripts\/[^` ]*\)` .*/\1/p' scripts/README.md | sort)) ||
    { say "scripts/README.md lacks (<) or names needlessly (>): $differences"; return 1; }
}

# Files of git whose first line says that a shell reads them.
shell_files() {
  local file line
  git ls-files --cached --others --exclude-standard | while read -r file; do
    [[ -f $file ]] || continue
    read -r line <"$file" 2>/dev/null || true
    [[ $line =~ ^'#!'.*(bash|/sh)$ || $line == '# shellcheck shell='* ]] && printf '%s\n' "$file"
  done
  return 0
}

# What decides the result of the stage besides scripts/: shellcheck, and shell files elsewhere.
shell_says() { shellcheck --version && shell_files | xargs -d '\n' sha256sum; }

shell() {
  require_programs shellcheck:shellcheck
  local files
  mapfile -t files < <(shell_files)
  ((${#files[@]})) || { say "git names no shell file"; return 1; }
  shellcheck "${files[@]}" && say "shellcheck: ${#files[@]} files" && script_table && scripts/test.d/self-test
}

# project_names: these files have the maintainers' name, their address and the project's URL as scripts/names.env has them. GitHub
# shows them as they are, so they cannot refer to it.
project_names() {
  local file value missing=0
  while read -r file value; do
    grep -qF -- "$value" "$file" || { say "$file lacks '$value', which is in scripts/names.env"; missing=1; }
  done < <(
    # shellcheck source=/dev/null
    . scripts/names.env
    printf '%s\n' "MAINTAINERS.md $MAINTAINER_NAME" "MAINTAINERS.md <$MAINTAINER_EMAIL>" "SECURITY.md <$MAINTAINER_EMAIL>" \
      "CODE_OF_CONDUCT.md <$MAINTAINER_EMAIL>" ".github/ISSUE_TEMPLATE/config.yml url: $PROJECT_URL"
  )
  return "$missing"
}

# Spelling, the project's names, and the terms that docs/style.md replaces by those of Kubernetes.
spelling() {
  require_programs codespell:codespell
  project_names || return
  (ensure_tools ours terms) && "$(tool ours terms)" || return
  git ls-files --cached --others --exclude-standard -z | xargs -0 codespell
}
