//! Pure: our Jobs. They may outlive their owner, so their labels name it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cache::Projection;
use crate::plan::meta::{Meta, Owner, ResourceKind};

/// A Job.
#[derive(Debug)]
pub struct Job {
    /// Its metadata.
    pub meta: Meta,
    owner: Option<Owner>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// How it ended, if it has.
    pub end: Option<JobEnd>,
    /// The number of its failed pods so far.
    pub failed: i32,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobEnd {
    /// A pod succeeded.
    Complete,
    /// The Job controller gave up.
    Failed {
        /// The reason, such as `BackoffLimitExceeded` or `DeadlineExceeded`.
        reason: String,
        /// The message.
        message: String,
    },
}

impl Projection for Job {
    const KIND: ResourceKind = ResourceKind { group: "batch", version: "v1", kind: "Job", plural: "jobs" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let Wire { metadata: Labelled { labels, created }, status } = serde_json::from_str(json)?;
        let end = status.conditions.into_iter().filter(|c| c.status == "True").find_map(|c| match c.type_.as_str() {
            "Complete" => Some(JobEnd::Complete),
            "Failed" => Some(JobEnd::Failed { reason: c.reason, message: c.message }),
            _ => None,
        });
        Ok(Self {
            meta: Meta::of_object(json)?,
            owner: Owner::from_labels(&labels),
            labels,
            created,
            end,
            failed: status.failed,
        })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.end == before.end && self.failed == before.failed && self.labels == before.labels
    }
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
    use crate::plan::meta::{INSTANCE, OWNER_KIND};
    use serde_json::{Value, json};

    fn job(conditions: &Value) -> Job {
        let labels = json!({ OWNER_KIND: "Thing.example.com", INSTANCE: "a" });
        let job = json!({ "metadata": { "namespace": "n", "name": "a-init", "labels": labels },
            "status": { "conditions": conditions, "failed": 1 } });
        Job::decode(&job.to_string()).unwrap()
    }

    #[test]
    fn the_end_of_a_job_is_read() {
        assert_eq!(job(&json!([])).end, None);
        assert_eq!(job(&json!([{ "type": "FailureTarget", "status": "True" }])).end, None);
        assert_eq!(job(&json!([{ "type": "Complete", "status": "True" }])).end, Some(JobEnd::Complete));
        let failed =
            job(&json!([{ "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "m" }]));
        assert_eq!(failed.end, Some(JobEnd::Failed { reason: "DeadlineExceeded".into(), message: "m".into() }));
        assert_eq!(failed.owner().map(|owner| (&*owner.kind, &*owner.name)), Some(("Thing.example.com", "a")));
    }
}
