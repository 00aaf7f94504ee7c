//! A cluster of three nodes in three zones (`scripts/cluster up --nodes 3`): what `scripts/cluster node` does to a node, and how
//! Kubernetes and the operators react.

mod bad_input;
mod deletion;
mod etcd;
mod isolation;
mod outage;
mod pods;
mod restart;
mod spread;
mod stage;
mod traffic;
