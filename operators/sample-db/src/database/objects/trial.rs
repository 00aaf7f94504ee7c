//! Pure: the Job whose pod tests the placement of the server's pod, next to it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agent_protocol::{AgentCommand, PgVersion};
use api::sample_db::Scheduling;
use runtime::plan::Create;
use runtime::pod::{claim_volume, resources, trial_pod};
use serde_json::json;

use crate::database::observed::{Observed, TrialInputs};
use crate::database::pinned::Pinned;
use crate::operand::agent_job::{JobParams, job};
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::operand::pod::{self, PodContext};
use crate::operand::scheduling::{PLACEMENT, placement, placement_label};

/// After how many seconds a trial is restarted. A pod that waits for a node does so until then.
const DEADLINE: i64 = 24 * 3600;
/// For how many seconds a failed trial prevents another one.
const LINGER: i32 = 600;

/// The trial Job. The resources of the present pod are free once that is deleted, so the trial requests only what the spec
/// requests beyond them, and may run on the same node. It names the data PVC, because a volume may be bound to a node, but mounts
/// it nowhere: no kubelet waits for a volume that is attached elsewhere.
pub(in crate::database) fn trial(observed: &Observed, pinned: &Pinned, present: &TrialInputs) -> Create {
    let db = &*observed.db;
    let scheduling: Cow<'_, Scheduling> = Cow::Owned(trial_scheduling(&db.spec.scheduling, &present.pod));
    let asks = json!(present.pod.excess(&resources(scheduling.resources.as_ref())));
    let context = PodContext { scheduling, ..observed.pod_context(&pinned.image) };
    let user = present.pod.user.and_then(|user| u32::try_from(user).ok());
    let starts = PgVersion { scratch: Some("/tmp".into()), user, ..PgVersion::default() };
    let [first, second] = &names::trial_jobs(db);
    let name = if present.requests_all { second } else { first };
    let of = JobParams::of_database(db, name, starts.argv(), DEADLINE);
    let of = JobParams { labels: trial_labels(db), env_from: None, ttl_seconds: Some(LINGER), retries: 2, ..of };
    let mut create = job(of, &context);
    let spec = &mut create.body["spec"]["template"]["spec"];
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(json!(claim_volume("data", &pinned.claim)));
    }
    for containers in ["initContainers", "containers"] {
        let all = spec[containers].as_array_mut();
        all.into_iter().flatten().for_each(|container| container["resources"] = asks.clone());
    }
    create
}

/// The part of the scheduling that another pod can have next to the present one.
fn trial_scheduling(of: &Scheduling, present: &trial_pod::PresentPod) -> Scheduling {
    Scheduling {
        affinity: of.affinity.as_ref().map(trial_pod::affinity),
        topology_spread_constraints: Vec::new(),
        priority_class_name: present.priority_class.clone(),
        ..of.clone()
    }
}

/// The labels of the pods.
pub(in crate::database) fn trial_labels(db: &SampleDB) -> BTreeMap<String, String> {
    let mut labels = crate::operand::labels::labels(db);
    labels.extend([
        (pod::DATABASE.to_owned(), db.meta.key.name.to_string()),
        (PLACEMENT.to_owned(), placement_label(&placement(&db.spec.scheduling))),
        (pod::ISOLATED.to_owned(), "true".to_owned()),
    ]);
    labels
}
