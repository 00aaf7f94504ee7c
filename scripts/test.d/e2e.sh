# shellcheck shell=bash
# The end-to-end suite on the cluster 'e2e', and what every suite on a cluster shares.

# suite NAME OPTION...: one test binary. That it ran is read from what it says, not from its exit status alone. With a
# filter, it is enough that one of them had something to run. Tests that wait for --all are ignored tests, and only in_cluster
# may have them.
PASSED=0
suite() {
  local name=$1 status=0 ignored=0
  shift
  [[ $name != in_cluster || " $* " == *' --include-ignored '* ]] || ignored='[0-9]+'
  cargo test "${LOCKED[@]}" --quiet -p e2e --test "$name" -- "$@" "${FILTERS[@]}" 2>&1 | tee "$LOG/$name" || status=1
  if grep -Eq "test result: ok\. [1-9][0-9]* passed; 0 failed; $ignored ignored" "$LOG/$name"; then
    PASSED=$((PASSED + 1))
    [[ $ignored == 0 ]] || sed -nE 's/^test result: .* ([1-9][0-9]*) ignored.*/not run: \1 long tests (--all runs them)/p' "$LOG/$name" >&2
  elif ((${#FILTERS[@]} == 0)); then
    say "the suite $name did not run to its end"
    status=1
  fi
  ((status == 0)) || [[ $name == olm || $name == gitops ]] || manager_log
  return "$status"
}

# Tests mostly wait, so more of them run at a time than there are processors. They print what they measure.
LONG=()
in_cluster() { suite in_cluster --test-threads=9 --show-output "${LONG[@]}"; }

# What EtcdClusters run, and what writes to them.
etcd_images() {
  if [[ -n $OURS ]]; then
    scripts/images --load "$OURS" etcd etcd-writer >/dev/null
  else
    say "its nodes must have localhost/etcd-writer:dev and quay.io/coreos/etcd:v3.3.25, v3.4.23, v3.5.16, v3.5.35, v3.6.16" \
      "and v3.7.3 (scripts/images etcd etcd-writer makes tars)"
  fi
}

# What SampleDBs run: the default, and what upgrades lead from and to.
postgres_images() {
  if [[ -n $OURS ]]; then
    scripts/images --load "$OURS" postgres >/dev/null
  else
    say "its nodes must have docker.io/library/postgres:13, :15.18, :15.20, :17 and :17.12 (scripts/images postgres makes tars)," \
      "and the class \`sized\`, whose volumes get full"
  fi
}

e2e() {
  run "e2e build" cargo test "${LOCKED[@]}" --quiet -p e2e --no-run || return
  run "e2e deploy" deploy_manager || return
  run "e2e etcd images" etcd_images || return
  run "e2e postgres images" postgres_images || return
  run "e2e helpers" cargo test "${LOCKED[@]}" --quiet -p e2e --lib
  [[ $ALL == no ]] || LONG=(--include-ignored)
  run "e2e in_cluster" in_cluster
  run "e2e processes" suite processes
  [[ $ALL == no ]] || run "e2e failpoints" failpoints
  ((PASSED)) || { say "no end-to-end test has passed"; FAILED=yes; }
}

# A manager that dies where it is told to, in the place of the one that is released; that one is back afterwards, and does
# not know how to.
failpoints() {
  local status=0 released
  [[ -n $OURS ]] || { say "--all loads another manager: it needs one of scripts/cluster's clusters"; return 1; }
  MANAGER_BINARY='' MANAGER_PROFILE=dev MANAGER_FEATURES=failpoints deploy_manager &&
    suite failpoints --test-threads=1 --show-output || status=1
  deploy_manager && released=$(manager_binary) || return 1
  ! grep -qa FAILPOINT "$released" || { say "$released has the failpoints of tests"; status=1; }
  return "$status"
}

# The same manager and tests on another Kubernetes.
on_oldest() {
  [[ -z $GIVEN_KUBECONFIG ]] || { say "--all starts clusters of its own: unset KUBECONFIG"; return 1; }
  take_down
  VERSION=(--kubernetes "$OLDEST") LONG=()
  own_cluster "$CLUSTER" "${VERSION[@]}" && deploy_manager && etcd_images && postgres_images && in_cluster
}
