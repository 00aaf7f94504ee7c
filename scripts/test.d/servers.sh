# shellcheck shell=bash
# The agent, the manager's statements and the etcd client against real servers of every version that the operator runs, without a cluster.
#
# The servers are those of the images that clusters get: each image's layer is unpacked into a file tree.

TREES=$CACHE/trees
POSTGRES_TREES=(13 15-old 15 17)
ETCD_TREES=(3.2 3.3 3.4 3.5-old 3.5 3.6 3.7)
# Tests of upgrades use the trees 13, 15 and 17 at once: they run once, with those of this tree's server.
WITH_UPGRADES=15

servers() {
  local tree status=0 options apart=()
  await_stage build && server_trees postgres etcd || return
  # These have suites of their own, but with a filter: names of tests add up, so those would run again whatever it names.
  ((${#FILTERS[@]})) || apart=(--skip upgrade_speed:: --skip upgrade_tables::)
  for tree in "${POSTGRES_TREES[@]}"; do
    options=(--skip upgrade)
    [[ $tree != "$WITH_UPGRADES" ]] || options=("${apart[@]}")
    PG_TREES=$TREES/postgres PG_TREE=$tree server_tests "postgres $tree" agent postgres --ignored "${options[@]}" || status=1
    PG_TREES=$TREES/postgres PG_TREE=$tree server_tests "manager $tree" sample-db sample_db --ignored || status=1
  done
  if ((${#apart[@]})); then
    export PG_TREES=$TREES/postgres PG_TREE=$WITH_UPGRADES
    alone server_tests "postgres speed" agent postgres --ignored upgrade_speed:: || status=1
    TMPDIR=$(quick_folder) server_tests "postgres tables" agent postgres --ignored upgrade_tables:: || status=1
  fi
  for tree in "${ETCD_TREES[@]}"; do
    options=()
    # Learners came with 3.4.
    [[ $tree != 3.[23] ]] || options=(--skip a_learner_)
    ETCD_TREE=$TREES/etcd/$tree server_tests "etcd $tree" etcd-cluster live --ignored "${options[@]}" || status=1
  done
  store_tests || status=1
  ((${#FILTERS[@]})) || all_ran "postgres $WITH_UPGRADES|postgres speed|postgres tables" operators/agent/tests/postgres || status=1
  ((${#FILTERS[@]})) || all_ran "manager $WITH_UPGRADES" operators/sample-db/src || status=1
  ((${#FILTERS[@]})) || all_ran "etcd ${ETCD_TREES[-1]}" operators/etcd-cluster/tests/live.rs || status=1
  return "$status"
}

# How many random databases go through a snapshot, its verification and its restore, and how many others through an upgrade;
# and by how many processes side by side: each has two tests, and a test a processor to itself.
RANDOM_DATABASES=1000
RANDOM_PROCESSES=2

databases() {
  local number pid pids=() status=0
  await_stage build && server_trees postgres || return
  TMPDIR=$(quick_folder) && export TMPDIR
  for ((number = 0; number < RANDOM_PROCESSES; number++)); do
    PG_TREES=$TREES/postgres PG_TREE=$WITH_UPGRADES PROPTEST_CASES=$((RANDOM_DATABASES / RANDOM_PROCESSES)) \
      MULTI_OPERATOR_SEED=$((MULTI_OPERATOR_SEED + number & 0x7fffffffffffffff)) \
      server_tests "databases $((number + 1))" agent postgres --ignored random:: &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return "$status"
}

# quick_folder: for servers of many files: the memory's, if it has room for what a dozen of them have.
quick_folder() {
  if (($(df --output=avail --block-size=1G /dev/shm | tail -n 1) < 8)); then printf /tmp; else printf /dev/shm; fi
}

# store_tests: the agent on the servers of object stores.
store_tests() {
  local azurite
  ensure_tools versitygw versitygw && ensure_tools fake-gcs-server fake-gcs-server && azurite=$(azurite) || return
  VERSITYGW=$(tool versitygw versitygw) FAKE_GCS_SERVER=$(tool fake-gcs-server fake-gcs-server) AZURITE=$azurite \
    server_tests stores agent agent --ignored bucket::live:: || return
  ((${#FILTERS[@]})) || all_ran stores operators/agent/src
}

# azurite: installs what its lock file pins, and prints its program, for node.
azurite() {
  local pin=scripts/tools/pins/azurite folder
  command -v npm >/dev/null || { say "the store of Azure's API is a program for node: install Node 20 or later, with npm"; return 1; }
  folder=$CACHE/bin/azurite-$(sha256sum <"$pin/package-lock.json" | cut -c1-10)
  if [[ ! -d $folder ]]; then
    mkdir -p "$CACHE/bin" "$CACHE/log" && rm -rf "$folder.partial" && cp -r "$pin" "$folder.partial" || return
    (cd "$folder.partial" && npm ci --ignore-scripts --no-audit --no-fund) >"$CACHE/log/npm-azurite.log" 2>&1 ||
      { say "npm cannot install Azurite: $CACHE/log/npm-azurite.log"; return 1; }
    mv -T "$folder.partial" "$folder" || return
  fi
  printf '%s/node_modules/azurite/dist/src/blob/main.js' "$folder"
}

# server_tests SUITE PACKAGE BINARY OPTION...: tests of one binary that no other stage runs.
server_tests() {
  local suite=$1 folder=$PWD/operators/$2 name=$3 binary
  shift 3
  binary=$(awk -v n="$name" -v f="$folder" '$1 == f && $2 == n { print $3 }' "$RUN_FOLDER/binaries")
  [[ -n $binary ]] || { say "cargo has built no test binary '$name' of $folder"; return 1; }
  say "== $suite"
  run_tests "$suite" "$folder" "$binary" "$@" "${FILTERS[@]}" | record "$suite" || return
  ((${#FILTERS[@]})) || (($(passed_in "$suite") > 0)) || { say "$suite: no test ran"; return 1; }
}

# passed_in SUITES: how many tests of these suites, as an extended regular expression, have passed.
passed_in() { grep -cE "^\{\"suite\":\"($1)\",.*\"result\":\"ok\"" "$RUN_FOLDER/tests.jsonl" 2>/dev/null; }

# all_ran SUITES SOURCE: these suites have run each ignored test of a file or directory.
all_ran() {
  local passed ignored
  passed=$(passed_in "$1") ignored=$(grep -rhE '^ *#\[ignore\b' "$2" | wc -l)
  ((passed == ignored)) || { say "$2 has $ignored ignored tests, of which ${1//|/ and } ran and passed $passed"; return 1; }
}

# server_trees KIND...: unpacks the images of postgres, etcd or both.
server_trees() {
  local tars tar
  [[ $(id -u) == 0 ]] || { say "the tests enter file trees and mount small volumes: this needs root"; return 1; }
  tars=$(scripts/images "$@") || return
  for tar in $tars; do unpack "$tar" || { say "$tar cannot be unpacked"; return 1; }; done
  say "the servers: PG_TREES=$TREES/postgres ETCD_TREE=$TREES/etcd/<version>"
}

# unpack TAR: creates a link such as postgres/15-old to the tree of an image, which is unpacked once.
unpack() {
  local tar=$1 image manifest layers layer tree new
  image=$(basename "$tar") image=${image%-*}
  manifest=$(<"$tar.digest") && layers=$(tar -xOf "$tar" "blobs/sha256/${manifest#sha256:}" | grep -o '"layers":.*') || return
  layer=$(grep -oE '[0-9a-f]{64}' <<<"$layers")
  [[ $layer != *$'\n'* ]] || { say "$tar has more than one layer"; return 1; }
  tree=$TREES/${manifest#sha256:}
  if [[ ! -d $tree ]]; then
    # Not by $BASHPID at each place: each side of a pipe is a process of its own.
    new=$tree.$BASHPID
    mkdir -p "$new" && tar -xOf "$tar" "blobs/sha256/$layer" | tar -x --numeric-owner -C "$new" || return
    # Another run may have been faster.
    mv -T "$new" "$tree" 2>/dev/null || rm -rf "$new"
  fi
  mkdir -p "$TREES/${image%%-*}" && ln -sfn "$tree" "$TREES/${image/-//}"
}
