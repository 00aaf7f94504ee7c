//! `SampleDB` in a world in memory: a cluster of Kubernetes, kubelets, the agent's verbs, PostgreSQL by what is in its
//! data, users and faults. Whatever happens on the way, no row that was acknowledged is lost, and when faults end, all
//! becomes as asked and then silent.

#![allow(missing_docs, reason = "tests")]

mod asked;
mod beginnings;
mod bench;
mod boundaries;
mod branching;
mod claims;
mod collector;
mod data;
mod faults;
mod forged;
mod guard;
mod interruptions;
mod kubelet;
mod labels;
mod lost_status;
mod manager;
mod needed;
mod observed;
mod person;
mod pods;
mod properties;
mod queries;
mod schedule;
mod sets;
mod settle;
mod site;
mod snapshots;
mod stories;
mod verbs;
