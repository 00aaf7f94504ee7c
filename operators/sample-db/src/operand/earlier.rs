//! Pure: what an earlier object of the name has left of its Jobs: they are found by their labels, which bear no uid.

use std::sync::Arc;

use runtime::projections::{Job, Pod};

/// Leaves out Jobs that another object controls than the one with that uid, and their pods: how they end says nothing of this one.
pub fn leave_out(uid: &str, jobs: &mut Vec<Arc<Job>>, pods: &mut Vec<Arc<Pod>>) {
    let is_others = |job: &Job| job.meta.controller.is_some() && !job.meta.controlled_by(uid);
    let others: Vec<Arc<Job>> = jobs.iter().filter(|job| is_others(job)).cloned().collect();
    pods.retain(|pod| !others.iter().any(|job| pod.meta.controlled_by(&job.meta.uid)));
    jobs.retain(|job| !is_others(job));
}
