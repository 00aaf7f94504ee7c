//! EtcdClusters in an in-memory world: a Kubernetes cluster, a model of etcd, kubelets, the agent, users and faults. Whatever
//! happens, no acknowledged write is lost, no act of the operator costs quorum, and when faults end, the cluster reaches the
//! desired state and stays there without further writes.

#![allow(missing_docs, reason = "tests")]

mod agent;
mod asked;
mod authentication;
mod bench;
mod boundaries;
mod broken_spec;
mod claims;
mod deletion;
mod faults;
mod findings;
mod guard;
mod hibernation;
mod hidden;
mod intact;
mod isolated;
mod kubelet;
mod life;
mod lost_node;
mod lost_status;
mod observed;
mod older_status;
mod outlived;
mod pods;
mod properties;
mod quorum;
mod raft;
mod recovered;
mod restored;
mod rolled;
mod schedule;
mod settle;
mod sight;
mod snapshot;
mod state;
mod step;
mod stories;
mod tls;
