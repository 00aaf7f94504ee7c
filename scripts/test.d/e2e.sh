# shellcheck shell=bash
# The end-to-end suites: of a manager that is deployed in a cluster, and of managers that are processes beside one.

# The second takes the deployed manager away, and wants to know which rights the first has used: so both have one cluster.
# Tests mostly wait, so more of them run at a time than there are processors: 9 on two.
e2e() {
  local status=0 threads=$((5 + 2 * $(nproc)))
  suite_cluster e2e && operand_images etcd postgres && deploy_built || return
  suite in_cluster --test-threads="$threads" || status=1
  suite processes || status=1
  return "$status"
}
