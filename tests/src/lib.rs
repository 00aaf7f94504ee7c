//! Helpers of the end-to-end tests, which run on a real cluster: that of `KUBECONFIG`.
//!
//! A test creates a [`namespace::Namespace`] of its own, acts in it as a user would, and waits by watching.

pub mod argocd;
pub mod audit;
pub mod call;
pub mod cluster;
pub mod erasing;
pub mod etcd;
pub mod etcd_backup;
pub mod etcd_restore;
pub mod kubectl;
pub mod namespace;
pub mod objects;
pub mod olm;
pub mod otlp;
pub mod patience;
pub mod process;
pub mod prometheus;
pub mod proxy;
pub mod recording;
pub mod s3_server;
pub mod sample_db;
pub mod sweep;
pub mod timing;
pub mod wait;
