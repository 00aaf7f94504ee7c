# shellcheck shell=bash
# The end-to-end suites: of a manager that is deployed in a cluster, and of managers that are processes beside one.

# The second takes the deployed manager away, and wants to know which rights the first has used: so both have one cluster.
# Tests mostly wait, so more of them run at a time than there are processors: 9 on two.
e2e() {
  local status=0 threads=$((5 + 2 * $(nproc)))
  suite_cluster e2e && choose_e2e_slices && operand_images etcd postgres httpbin && deploy_built || return
  suite in_cluster --test-threads="$threads" "${SKIPPED[@]}" && remember_slices || status=1
  # Which rights are used can only be told by all tests together.
  MULTI_OPERATOR_PARTIAL_SUITE=${SKIPPED[*]} suite processes || status=1
  return "$status"
}
