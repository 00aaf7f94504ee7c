# shellcheck shell=bash
# The slow rest, in parts. Each is a run of its own with the manager as it is shipped, and leaves a record; a part that has
# passed on this tree, as far as it reads that, is not run again.

PARTS=(shipped servers databases schedules simulations failpoints long outages alerts network-policy gateways nodes oldest)

# part_stages PART: declares its stages.
part_stages() {
  # Simulations are built with optimizations, by their own script.
  [[ $1 == simulations ]] || stage build
  case $1 in
    shipped)
      RELEASE=yes
      stage e2e +build && stage gitops +build && stage olm +build && stage olm-2 +build
      ;;
    long) RELEASE=yes && stage long-e2e +build && stage long-gitops +build ;;
    alerts | network-policy | oldest) RELEASE=yes && stage "$1" +build ;;
    gateways) RELEASE=yes && stage "$1" +build made:traefik ;;
    nodes | failpoints | outages) stage "$1" +build ;;
    servers | databases) stage "$1" +build ;;
    schedules) stage "$1" build ;;
    simulations) stage "$1" ;;
  esac
}

# New random schedules, for each property test; and faults at all points of the scenarios of others, of which the stage unit
# takes one in three.
schedules() {
  local folder binary name
  export PROPTEST_CASES=3000
  unit_binaries | while read -r folder binary name; do
    run_tests "$name" "$folder" "$binary" properties recovered boundaries crash_points </dev/null
  done | record schedules
}

# How long each scenario is simulated, in minutes: with the build, all of them stay under an hour on two slow cores.
SIMULATION_MINUTES=10

# New random schedules of the simulation, from the seed of this run on.
simulations() {
  scripts/simulate --minutes "$SIMULATION_MINUTES" --seeds 1000000000 --from "$MULTI_OPERATOR_SEED"
}

# A manager that crashes at failpoints, in place of the released one; the released one, which has no failpoints, is restored
# afterward.
failpoints() {
  local status=0 released
  suite_cluster failpoints && operand_images etcd postgres && await_stage build || return
  [[ -n $OURS ]] || { say "this part loads another manager: it needs one of scripts/cluster's clusters"; return 1; }
  scripts/images --load "$OURS" etcd-writer >/dev/null &&
    MANAGER_BINARY='' MANAGER_PROFILE=dev MANAGER_FEATURES=failpoints deploy_manager &&
    suite failpoints --test-threads=1 || status=1
  # Rebuilt, because the build with failpoints has replaced that of the build stage.
  MANAGER_BINARY='' MANAGER_PROFILE=dev deploy_manager && released=$(MANAGER_BINARY='' MANAGER_PROFILE=dev manager_binary) || return 1
  ! grep -qa FAILPOINT "$released" || { say "$released has the failpoints of tests"; status=1; }
  return "$status"
}

# Tests that need a cluster alone for minutes.
long_e2e() {
  suite_cluster e2e && operand_images etcd postgres && deploy_built && suite in_cluster --test-threads=1 --ignored
}

long_gitops() { SOAK=600 gitops; }

# Outages of the API server as long as real ones; the managers are processes next to the cluster, each behind a proxy of its own.
outages() { suite_cluster outages && await_stage build && suite processes --ignored --test-threads=5; }

# How many times sooner alerts fire than as they are shipped.
FASTER=20

alerts() {
  suite_cluster alerts && operand_images etcd-3.6 postgres-15 postgres-17 && deploy_built || return
  [[ -n $OURS ]] || { say "Prometheus runs next to the cluster's own processes: this needs one of scripts/cluster's"; return 1; }
  scripts/monitoring up --name "$OURS" --faster "$FASTER" && eval "$(scripts/monitoring env --name "$OURS")" || return
  suite alerts --test-threads=9
  local status=$?
  scripts/monitoring down --name "$OURS" && return "$status"
}

network_policy() {
  vet_pins "${PART_PINS[@]}" || return
  suite_cluster netpol && operand_images etcd-3.5 postgres-15 postgres-17 && deploy_built || return
  if [[ -n $OURS ]]; then
    scripts/network-policy up --name "$OURS" || return
  else
    say "its network must enforce NetworkPolicies"
  fi
  suite network_policy --test-threads=4
  local status=$?
  # On a cluster that stays, all connections are allowed again: other suites do not expect policies.
  kubectl delete --kustomize config/network-policy >/dev/null || return
  [[ -z $OURS ]] || scripts/network-policy down --name "$OURS" && return "$status"
}

# Requests through a real controller of Ingresses and Gateways.
gateways() {
  suite_cluster gateways && operand_images httpbin && deploy_built || return
  [[ -n $OURS ]] || { say "Traefik runs next to the cluster's own processes: this needs one of scripts/cluster's"; return 1; }
  scripts/gateways up --name "$OURS" && eval "$(scripts/gateways env --name "$OURS")" || return
  suite gateways --test-threads=4
  local status=$?
  scripts/gateways down --name "$OURS" && return "$status"
}

# The same manager and tests on the oldest Kubernetes that we claim to support.
oldest() {
  [[ -z $GIVEN_KUBECONFIG ]] || { say "this part starts a cluster of its own: unset KUBECONFIG"; return 1; }
  VERSION_OPTION=(--kubernetes "$OLDEST")
  e2e
}

# The suites of tests/tests that a part runs, and of OPERATORS those whose code it runs, where that is not all. What only others read
# leaves its record good: a fault that one part finds in its own tests does not make all parts run again.
declare -A PART_SUITES=([shipped]='in_cluster processes gitops olm' [long]='in_cluster gitops' [oldest]='in_cluster processes'
  [outages]=processes [failpoints]=failpoints [alerts]=alerts [network-policy]=network_policy [gateways]=gateways [nodes]=nodes)
declare -A PART_OPERATORS=([servers]='sample-db etcd-cluster' [databases]=none
  [failpoints]='sample-db etcd-cluster' [gateways]=my-app)

# Those that run tests of operators without a cluster. What is in a directory of tests no other part reads.
PARTS_WITHOUT_CLUSTERS=(servers databases schedules)

# part_hash PART: of what it reads.
part_hash() {
  local suite operators=${PART_OPERATORS[$1]:-${OPERATORS[*]}} excluded=()
  is_one_of "$1" "${PARTS_WITHOUT_CLUSTERS[@]}" || excluded=(':(exclude)operators/*/tests/*')
  for suite in tests/tests/*/; do
    suite=$(basename "$suite")
    # shellcheck disable=SC2086
    is_one_of "$suite" ${PART_SUITES[$1]:-} || excluded+=(":(exclude)tests/tests/$suite")
  done
  # shellcheck disable=SC2086
  mapfile -t -O "${#excluded[@]}" excluded < <(operators_but $operators)
  tree_hash . "${NO_INPUTS[@]}" "${excluded[@]}"
}

# part_record PART: where its passing is recorded: for what it reads, this machine, and the version of Kubernetes that was asked for.
part_record() { printf '%s/all/%s/%s%s.json' "$CACHE" "$(part_hash "$1")" "$1" "${VERSION_OPTION[1]:+-${VERSION_OPTION[1]}}"; }

# run_part PART TIMINGS: in the background, so that a signal is passed on at once instead of when the part has ended.
run_part() {
  "$0" --part "$1" --timings "$2" "${PASS_ON[@]}" &
  local pid=$!
  # shellcheck disable=SC2064
  trap "kill -TERM $pid 2>/dev/null; wait $pid; exit 130" INT TERM
  wait "$pid"
}

# run_parts PART...: each a scripts/test of its own, so that what one leaves behind or breaks is no other's.
run_parts() {
  local part record status=0
  # The record of a part is named by what git says of the tree.
  require_programs git:git
  for part in "$@"; do
    record=$(part_record "$part")
    if [[ ${CI:-} != true && $AGAIN == no && -s $record ]]; then
      say "== part $part: passed on this tree before ($record); --again runs it all the same"
      continue
    fi
    say "== part $part"
    mkdir -p "${record%/*}"
    # What passed earlier says nothing about a run that fails now.
    rm -f "$record"
    run_part "$part" "$record.new" && mv "$record.new" "$record" || status=1
  done
  for part in "$@"; do
    record=$(part_record "$part")
    if [[ -s $record ]]; then say "part $part: passed, $record"; else say "part $part: FAILED"; fi
  done
  return "$status"
}
