//! `EtcdCluster` in a world in memory: a cluster of Kubernetes, etcd by raft's outcome, kubelets, the agent, users and
//! faults. Whatever happens on the way, nothing acknowledged is lost, no act of ours takes quorum away, and when faults
//! end, all becomes as asked and then silent.

#![allow(missing_docs, reason = "tests")]

mod agent;
mod asked;
mod bench;
mod boundaries;
mod broken_spec;
mod claims;
mod deletion;
mod faults;
mod findings;
mod guard;
mod hidden;
mod intact;
mod isolated;
mod kubelet;
mod life;
mod lost_status;
mod observed;
mod older_status;
mod outlived;
mod pods;
mod properties;
mod quorum;
mod raft;
mod rolled;
mod schedule;
mod settle;
mod sight;
mod state;
mod step;
mod stories;
