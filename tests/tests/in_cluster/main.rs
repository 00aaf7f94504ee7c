//! Behaviours of the manager that is deployed in the cluster. One file a behaviour; all run side by side, but for those
//! that measure times or stop the manager.

mod bad_input;
mod configuration;
mod create;
mod deletion;
mod etcd_bad_input;
mod etcd_scope;
mod manifest;
mod metrics;
mod normalised;
mod paused;
mod repair;
mod rollout;
mod sample;
mod scale;
mod strangers;
mod trouble;
mod whole_run;
mod writes;
