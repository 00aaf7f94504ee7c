# shellcheck shell=bash
# A cluster of several nodes: what scripts/cluster does to one of them, and how Kubernetes and the operators react.

# Two nodes can be away at a time: tests that need the same one wait for each other.
nodes() {
  suite_cluster nodes --nodes 3 || return
  [[ -n $OURS ]] || { say "these tests stop nodes: they need one of scripts/cluster's clusters, with --nodes 3"; return 1; }
  scripts/images --load "$OURS" nginx-1.26 >/dev/null && operand_images etcd && deploy_built && suite nodes --test-threads=4
}
