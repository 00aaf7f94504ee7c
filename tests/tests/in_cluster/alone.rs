//! Tests that have the cluster to themselves: they measure times, or stop the manager. `scripts/test` runs them before all
//! others, which would wait for each of them in turn.

mod bad_image;
mod create;
mod etcd_operator_gone;
mod etcd_times;
mod normalized;
mod repair;
mod sample_db_killed;
