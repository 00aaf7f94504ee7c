//! The Job whose pod tries the placement of the server's, beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use api::sample_db::Scheduling;
use runtime::plan::{Create, beside};
use runtime::views::Pod;
use serde_json::json;

use super::job::{JobOf, job};
use super::pod::{self, Place};
use super::server::fingerprint;
use crate::SampleDB;
use crate::plan::placement::Present;
use crate::plan::wish::Wish;
use crate::plan::{Observed, names};

/// Annotation of the server's pods with where the spec had them run, and as what; and label of a trial's, with a fingerprint of it.
pub(in crate::plan) const PLACEMENT: &str = "multi-operator.example.com/placement";
/// After how many seconds a trial is begun anew: one that waits for a node goes on by itself until then.
const DEADLINE: i64 = 24 * 3600;
/// For how many seconds one that has failed keeps another from being made.
const LINGER: i32 = 600;

/// Where the server's pod is to run, and as what, in one line.
#[must_use]
pub(in crate::plan) fn placement(scheduling: &Scheduling) -> String {
    json!(scheduling).to_string()
}

/// Where a pod of the server's was to run, and as what; nothing of those that earlier managers have made.
#[must_use]
pub(crate) fn placed(pod: &Pod) -> Option<Scheduling> {
    serde_json::from_str(pod.running.as_deref()?.annotations.get(PLACEMENT)?).ok()
}

/// A placement as the value of a label.
#[must_use]
pub(in crate::plan) fn mark(placement: &str) -> String {
    format!("{:016x}", fingerprint(placement))
}

/// The Job. What the present pod has is free once that is gone, so the trial's asks for what the spec asks for beyond it, and may run on
/// its node. It names the claim of the data, since a volume may be bound to a node, and mounts it nowhere: no kubelet waits for
/// a volume that is attached elsewhere.
pub(in crate::plan) fn trial(observed: &Observed, wish: &Wish, present: &Present) -> Create {
    let db = &*observed.db;
    let scheduling = Cow::Owned(placement_beside(&db.spec.scheduling, &present.pod));
    let asks = json!(present.pod.beyond(&pod::resources(&scheduling)));
    let place = Place { scheduling, ..observed.place(&wish.image) };
    let mut arguments = vec!["pg-version".to_owned(), "--start-in=/tmp".to_owned()];
    arguments.extend(present.pod.user.map(|user| format!("--as-user={user}")));
    let [first, whole] = &names::trial_jobs(db);
    let name = if present.whole { whole } else { first };
    let of = JobOf::of_database(db, name, arguments, DEADLINE);
    let of = JobOf { labels: trial_labels(db), env_from: None, linger: Some(LINGER), retries: 2, ..of };
    let mut create = job(of, &place);
    let spec = &mut create.body["spec"]["template"]["spec"];
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(json!(pod::of_claim("data", &wish.claim)));
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
pub(in crate::plan) fn trial_labels(db: &SampleDB) -> BTreeMap<String, String> {
    let mut labels = super::labels(db);
    labels.extend([
        (pod::DATABASE.to_owned(), db.meta.key.name.to_string()),
        (PLACEMENT.to_owned(), mark(&placement(&db.spec.scheduling))),
        (pod::ISOLATED.to_owned(), "true".to_owned()),
    ]);
    labels
}
