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

spelling() {
  require_programs codespell:codespell
  git ls-files --cached --others --exclude-standard -z | xargs -0 codespell
}
