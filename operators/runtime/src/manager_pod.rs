//! Reports on the manager's Pod whether all watches are healthy, and whether the CRDs match: without permissions in a namespace,
//! or without the subresource status, it cannot report this on the objects.
//!
//! It writes one condition, at each change and once at start, and an Event when that becomes False and when it becomes True
//! again. Every replica reports on its own Pod.

use std::sync::Arc;
use std::time::Duration;

use api::ConditionStatus;
use futures::future::select_all;
use jiff::{Timestamp, Unit};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::sleep;

use crate::cache::watch_health::WatchHealth;
use crate::cache::{KindHealth, WatchStates};
use crate::events::Publisher;
use crate::plan::EventDraft;
use crate::plan::meta::{Key, Meta, ResourceKind};
use crate::watched_value::Changes;

/// The type of the condition.
const WATCHING: &str = "multi-operator.example.com/Watching";
const POD: ResourceKind = ResourceKind { group: "", version: "v1", kind: "Pod", plural: "pods" };
/// Changes within this time are reported together.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// How often a failing watch is checked: no event reports that it has become stale.
const POLL_FAILING_WATCH: Duration = Duration::from_secs(5);
/// When to retry after a write without a response.
const WRITE_RETRY_DELAY: Duration = Duration::from_secs(10);

/// The Pod of this process, and the health of its watches.
pub struct ManagerPod {
    /// Sends the writes.
    pub client: Client,
    /// The Pod.
    pub key: Key,
    /// The watched kinds.
    pub health: Vec<Arc<KindHealth>>,
    /// Gets an Event for each transition.
    pub events: Publisher,
}

/// The last reported condition, and its transition time.
struct LastReported {
    health: WatchHealth,
    since: Timestamp,
}

impl ManagerPod {
    /// Runs until it is dropped, or until the Pod does not exist.
    pub async fn run(self) {
        for health in &self.health {
            health.until_all_attempted().await;
        }
        let mut changes: Vec<_> = self.health.iter().map(|health| health.changes()).collect();
        let mut reported: Option<LastReported> = None;
        loop {
            let health = self.settled().await;
            if reported.as_ref().is_none_or(|reported| reported.health != health) {
                match self.report(&health, reported.as_ref()).await {
                    Ok(now) => reported = Some(now),
                    Err(kube::Error::Api(refusal)) if refusal.code == 404 => return,
                    Err(kube::Error::Api(refusal)) if (400..500).contains(&refusal.code) && refusal.code != 429 => {
                        tracing::warn!(pod = %self.key, "the condition {WATCHING} cannot be written: {}", refusal.message);
                        reported = Some(LastReported { health, since: crate::clock::now() });
                    }
                    Err(error) => {
                        tracing::debug!(pod = %self.key, %error, "the condition {WATCHING} cannot be written now");
                        sleep(WRITE_RETRY_DELAY).await;
                        continue;
                    }
                }
            }
            self.wait_for_change(&mut changes).await;
        }
    }

    /// The health, once it has not changed for a moment.
    async fn settled(&self) -> WatchHealth {
        let mut health = self.health_now();
        loop {
            sleep(SETTLE_TIME).await;
            let now = self.health_now();
            if now == health {
                return health;
            }
            health = now;
        }
    }

    fn health_now(&self) -> WatchHealth {
        let unwatched: Vec<_> = self.health.iter().flat_map(|health| health.stale()).collect();
        let crds: Vec<_> = self.health.iter().filter_map(|health| health.crd_mismatch_message()).collect();
        WatchHealth::of(&unwatched, &crds)
    }

    /// Waits for a change of a watch; while one fails, only for a short time.
    async fn wait_for_change(&self, changes: &mut [Changes<'_, WatchStates>]) {
        let change = select_all(changes.iter_mut().map(|changes| Box::pin(changes.next())));
        if self.health.iter().any(|health| !health.failing().is_empty()) {
            drop(tokio::time::timeout(POLL_FAILING_WATCH, change).await);
        } else {
            drop(change.await);
        }
    }

    async fn report(&self, health: &WatchHealth, before: Option<&LastReported>) -> Result<LastReported, kube::Error> {
        let changed = before.is_none_or(|before| before.health.complete != health.complete);
        let now = || crate::clock::now().round(Unit::Second).unwrap_or_default();
        let since = before.filter(|_| !changed).map_or_else(now, |before| before.since);
        let status = if health.complete { ConditionStatus::True } else { ConditionStatus::False };
        let condition = json!({
            "type": WATCHING, "status": status, "reason": health.reason.as_str(), "message": health.message,
            "lastTransitionTime": since,
        });
        let pods: Api<PartialObjectMeta<Pod>> = Api::namespaced(self.client.clone(), &self.key.namespace);
        let patch = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
        let pod = pods.patch_status(&self.key.name, &PatchParams::default(), &patch).await?;
        // A manager that has just started does not publish that all is well.
        if changed && (before.is_some() || !health.complete) {
            let event =
                EventDraft { warning: !health.complete, reason: health.reason.into(), message: health.message.clone() };
            self.events.publish(&POD, &self.meta(pod.metadata.uid.unwrap_or_default()), event);
        }
        Ok(LastReported { health: health.clone(), since })
    }

    fn meta(&self, uid: String) -> Meta {
        Meta {
            key: self.key.clone(),
            uid: uid.into(),
            resource_version: 0,
            generation: 0,
            deleting: false,
            controller: None,
            finalizers: Box::default(),
        }
    }
}
