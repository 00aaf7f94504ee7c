//! Pure: Jobs of ours. They may outlive their owner, so their labels say whose they are.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cache::Projection;
use crate::plan::meta::{INSTANCE, Kind, Meta, OWNER_KIND, Owner};

/// A Job of ours.
#[derive(Debug)]
pub struct Job {
    /// Who it is.
    pub meta: Meta,
    owner: Option<Owner>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// How it ended, if it has.
    pub end: Option<JobEnd>,
    /// Pods of it that have failed so far.
    pub failed: i32,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// A pod of it succeeded.
    Complete,
    /// It is given up: the reason, and in words.
    Failed {
        /// In one CamelCase word, such as `BackoffLimitExceeded` or `DeadlineExceeded`.
        reason: String,
        /// In words.
        message: String,
    },
}

impl Projection for Job {
    const KIND: Kind = Kind { group: "batch", version: "v1", kind: "Job", plural: "jobs" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let WireMeta { metadata } = serde_json::from_str(json)?;
        let Wire { metadata: Labelled { labels, created }, status } = serde_json::from_str(json)?;
        let owner = labels.get(OWNER_KIND).zip(labels.get(INSTANCE));
        let owner = owner.map(|(kind, name)| Owner { kind: kind.as_str().into(), name: name.as_str().into() });
        let end = status.conditions.into_iter().filter(|c| c.status == "True").find_map(|c| match c.type_.as_str() {
            "Complete" => Some(JobEnd::Complete),
            "Failed" => Some(JobEnd::Failed { reason: c.reason, message: c.message }),
            _ => None,
        });
        Ok(Self { meta: metadata, owner, labels, created, end, failed: status.failed })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn same(&self, before: &Self) -> bool {
        self.end == before.end && self.failed == before.failed && self.labels == before.labels
    }
}

#[derive(Deserialize)]
struct WireMeta {
    metadata: Meta,
}

#[derive(Deserialize)]
struct Wire {
    metadata: Labelled,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Deserialize)]
struct Labelled {
    #[serde(default, rename = "creationTimestamp")]
    created: Option<Timestamp>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    conditions: Vec<WireCondition>,
    failed: i32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: String,
    message: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn job(conditions: &Value) -> Job {
        let labels = json!({ OWNER_KIND: "Thing.example.com", INSTANCE: "a" });
        let job = json!({ "metadata": { "namespace": "n", "name": "a-init", "labels": labels },
            "status": { "conditions": conditions, "failed": 1 } });
        Job::decode(&job.to_string()).unwrap()
    }

    #[test]
    fn how_it_ended_is_read() {
        assert_eq!(job(&json!([])).end, None);
        assert_eq!(job(&json!([{ "type": "FailureTarget", "status": "True" }])).end, None);
        assert_eq!(job(&json!([{ "type": "Complete", "status": "True" }])).end, Some(JobEnd::Complete));
        let failed =
            job(&json!([{ "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "m" }]));
        assert_eq!(failed.end, Some(JobEnd::Failed { reason: "DeadlineExceeded".into(), message: "m".into() }));
        assert_eq!(failed.owner().map(|owner| (&*owner.kind, &*owner.name)), Some(("Thing.example.com", "a")));
    }
}
