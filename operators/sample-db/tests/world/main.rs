//! SampleDB in a simulated cluster in memory: Kubernetes, kubelets, the agent's commands, PostgreSQL as far as its data is
//! concerned, users and faults. Whatever happens, no acknowledged row is lost; once faults end, everything reaches the desired
//! state, and then nothing is written any more.

#![allow(missing_docs, reason = "tests")]

mod administrator;
mod agent_commands;
mod agent_upgrade;
mod claims;
mod collector;
mod crash_points;
mod data;
mod dependencies;
mod fault_injection;
mod faults;
mod forged;
mod infrastructure;
mod interruptions;
mod invariants;
mod kubelet;
mod labels;
mod lost_status;
mod manager;
mod new_volumes;
mod observed;
mod pods;
mod postgres;
mod properties;
mod queries;
mod scenarios;
mod schedule;
mod sets;
mod settle;
mod simulation;
mod snapshots;
mod stores;
