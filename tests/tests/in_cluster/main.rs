//! Behaviours of the manager that is deployed in the cluster. One file a behaviour; all run side by side, but for those
//! that measure times or stop the manager.

mod bad_input;
mod configuration;
mod create;
mod deletion;
mod etcd_bad_input;
mod etcd_create;
mod etcd_ephemeral;
mod etcd_old;
mod etcd_operator_gone;
mod etcd_paused;
mod etcd_pods_lost;
mod etcd_replaced;
mod etcd_resize;
mod etcd_restart;
mod etcd_scope;
mod etcd_single;
mod etcd_times;
mod etcd_trouble;
mod etcd_upgrade;
mod etcd_volumes;
mod manifest;
mod metrics;
mod normalised;
mod paused;
mod repair;
mod rollout;
mod sample;
mod sample_db_bad_input;
mod sample_db_life;
mod scale;
mod strangers;
mod trouble;
mod whole_run;
mod writes;
