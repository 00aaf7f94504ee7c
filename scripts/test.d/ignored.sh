# shellcheck shell=bash
# No test is left out for good: each #[ignore] names, as its reason, the part of scripts/test --all that runs it.

# Which test binaries' ignored tests a part runs: PACKAGE/BINARY. What a part runs is read from here, too.
declare -A RUNS_IGNORED=([servers]='agent/lib agent/postgres sample-db/lib etcd-cluster/live' [long]='e2e/in_cluster')

# binary_of FILE: the package and the test binary that a source file belongs to: `lib` of what is in the crate itself.
binary_of() {
  local package binary
  if [[ $1 == */src/* ]]; then
    package=${1%%/src/*}
    printf '%s/lib' "${package##*/}"
    return
  fi
  [[ $1 == */tests/* ]] || return 0
  package=${1%%/tests/*} binary=${1#"$package"/tests/}
  package=${package##*/} binary=${binary%%/*}
  # The end-to-end tests are the package e2e, in the directory tests.
  [[ $1 != tests/tests/* ]] || package=e2e
  printf '%s/%s' "$package" "${binary%.rs}"
}

# why_not FILE ATTRIBUTE: why an ignored test runs nowhere; nothing if a part runs it.
why_not() {
  local part
  [[ $2 =~ ^\#\[ignore\ =\ \"scripts/test\ --all\ ([a-z-]+)(:\ .+)?\"\]$ ]] ||
    { printf 'its reason should be "scripts/test --all PART", or that and ": why"'; return; }
  part=${BASH_REMATCH[1]}
  [[ " ${RUNS_IGNORED[$part]:-} " == *" $(binary_of "$1") "* ]] || printf 'the part %s does not run the ignored tests of %s' "$part" "$(binary_of "$1")"
}

# unrun DIRECTORY: each test below it that nothing runs, one a line; fails if there are any.
unrun() {
  local file line text why found=0
  while IFS=: read -r file line text; do
    why=$(why_not "${file#./}" "${text#"${text%%[! ]*}"}")
    [[ -n $why ]] || continue
    printf '%s:%s: %s\n' "${file#./}" "$line" "$why"
    found=1
  done < <(cd "$1" && grep -rnE --include='*.rs' --exclude-dir=target '#!?\[(cfg_attr\(.*)?\bignore\b' .)
  # Go's tests skip in the middle, and count as passed.
  while IFS=: read -r file line text; do
    printf '%s:%s: a test that skips counts as passed\n' "${file#./}" "$line"
    found=1
  done < <(cd "$1" && grep -rnE --include='*_test.go' '\b[tb]\.(Skip|SkipNow|Skipf)\(' .)
  return "$found"
}

# That the check finds what it should.
ignored_self_test() {
  local folder=$RUN_FOLDER/ignored said
  mkdir -p "$folder"/{tests/tests/in_cluster,operators/{runtime/src,agent/tests/postgres}}
  printf '#[ignore]\n' >"$folder/tests/tests/in_cluster/no_reason.rs"
  printf '#[ignore = "needs a server"]\n' >"$folder/tests/tests/in_cluster/no_part.rs"
  printf '    #[cfg_attr(miri, ignore)]\n' >"$folder/tests/tests/in_cluster/attribute.rs"
  printf '#[ignore = "scripts/test --all never"]\n' >"$folder/tests/tests/in_cluster/unknown.rs"
  printf '#[ignore = "scripts/test --all servers"]\n' >"$folder/tests/tests/in_cluster/elsewhere.rs"
  printf '#[ignore = "scripts/test --all servers"]\n' >"$folder/operators/runtime/src/unit.rs"
  printf '\tt.Skip("no server")\n' >"$folder/operators/some_test.go"
  printf '    #[ignore = "scripts/test --all servers: it takes a while"]\n' >"$folder/operators/agent/tests/postgres/well.rs"
  said=$(unrun "$folder")
  [[ $(wc -l <<<"$said") == 7 && $said != *well.rs* ]] || { say "the check should name 7 of these 8 files, and says: $said"; return 1; }
}

ignored() { ignored_self_test && unrun . >&2; }
