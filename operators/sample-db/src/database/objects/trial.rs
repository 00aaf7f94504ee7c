//! Pure: the Job whose pod tries the placement of the server's, beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agent_protocol::{Arguments, PgVersion};
use api::sample_db::Scheduling;
use runtime::plan::Create;
use runtime::pod::{beside, claim_volume, resources};
use serde_json::json;

use crate::database::observed::{Observed, Present};
use crate::database::pinned::Pinned;
use crate::operand::agent_job::{JobOf, job};
use crate::operand::kinds::SampleDB;
use crate::operand::names;
use crate::operand::pod::{self, Place};
use crate::operand::scheduling::{PLACEMENT, mark, placement};

/// After how many seconds a trial is begun anew: one that waits for a node goes on by itself until then.
const DEADLINE: i64 = 24 * 3600;
/// For how many seconds one that has failed keeps another from being made.
const LINGER: i32 = 600;

/// The Job. What the present pod has is free once that is gone, so the trial's asks for what the spec asks for beyond it, and may run on
/// its node. It names the claim of the data, since a volume may be bound to a node, and mounts it nowhere: no kubelet waits for
/// a volume that is attached elsewhere.
pub(in crate::database) fn trial(observed: &Observed, pinned: &Pinned, present: &Present) -> Create {
    let db = &*observed.db;
    let scheduling: Cow<'_, Scheduling> = Cow::Owned(placement_beside(&db.spec.scheduling, &present.pod));
    let asks = json!(present.pod.beyond(&resources(scheduling.resources.as_ref())));
    let place = Place { scheduling, ..observed.place(&pinned.image) };
    let user = present.pod.user.and_then(|user| u32::try_from(user).ok());
    let starts = PgVersion { scratch: Some("/tmp".into()), user, ..PgVersion::default() };
    let [first, whole] = &names::trial_jobs(db);
    let name = if present.whole { whole } else { first };
    let of = JobOf::of_database(db, name, starts.argv(), DEADLINE);
    let of = JobOf { labels: trial_labels(db), env_from: None, linger: Some(LINGER), retries: 2, ..of };
    let mut create = job(of, &place);
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

/// What of a placement another pod can have beside the present one.
fn placement_beside(of: &Scheduling, present: &beside::Present) -> Scheduling {
    Scheduling {
        affinity: of.affinity.as_ref().map(beside::affinity),
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
        (PLACEMENT.to_owned(), mark(&placement(&db.spec.scheduling))),
        (pod::ISOLATED.to_owned(), "true".to_owned()),
    ]);
    labels
}
