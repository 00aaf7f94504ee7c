//! Pure: Jobs that an earlier object of the same name left. Jobs are found by their labels, which do not have the UID.

use std::sync::Arc;

use crate::projections::{Job, Pod};

/// Removes Jobs that an object with another UID controls, and their pods: their results do not concern this object.
pub fn remove_jobs_of_others(uid: &str, jobs: &mut Vec<Arc<Job>>, pods: &mut Vec<Arc<Pod>>) {
    let is_others = |job: &Job| job.meta.controller.is_some() && !job.meta.controlled_by(uid);
    let others: Vec<Arc<Job>> = jobs.iter().filter(|job| is_others(job)).cloned().collect();
    pods.retain(|pod| !others.iter().any(|job| pod.meta.controlled_by(&job.meta.uid)));
    jobs.retain(|job| !is_others(job));
}
