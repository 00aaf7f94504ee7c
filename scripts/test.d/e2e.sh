# shellcheck shell=bash
# The end-to-end suites: of a manager that is deployed in a cluster, and of managers that are processes next to one.

# The second scales the deployed manager to 0, and reads which permissions the first has used: so both share a cluster.
e2e() {
  local status=0
  suite_cluster e2e && choose_e2e_slices && operand_images etcd postgres httpbin versitygw && deploy_built || return
  # The databases of each operator are about a quarter of what keeps the processors busy.
  room_of e2e && takes_room e2e $((RESULT - LEFT_OUT))
  in_cluster && remember_slices || status=1
  # These managers mostly wait, but not while they start: OLM can run at the same time, and Argo CD's clusters start afterwards.
  takes_room e2e 3
  # Only all tests together show which permissions are used.
  MULTI_OPERATOR_PARTIAL_SUITE=${SKIPPED[*]} suite processes || status=1
  return "$status"
}

# in_cluster: those that want the cluster alone come first, a few at a time, since they may prepare while others run. In
# the middle, each would wait until all that runs has ended, and all others for it. The others mostly wait for the cluster, so more of
# them run at a time than there are processors: 9 on two.
in_cluster() {
  local status=0 threads=$((5 + 2 * $(nproc))) others=()
  if ((${#FILTERS[@]} == 0)); then
    # Both runs check what must hold for a complete run.
    suite in_cluster --test-threads=3 "${SKIPPED[@]}" alone:: whole_run:: || status=1
    others=(--skip alone::)
  fi
  suite in_cluster --test-threads="$threads" "${SKIPPED[@]}" "${others[@]}" || status=1
  return "$status"
}
