//! Says on the manager's own Pod whether it sees all that it is to watch, and whether CRDs are as it needs them: where it lacks
//! every right in a namespace, or objects can have no status, it can say nothing there.
//!
//! One condition, written when that changes and once at start; an Event when something goes missing and when all is seen
//! again. Every replica says it of itself.

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
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cache::watch_health::WatchHealth;
use crate::cache::{Health, Watches};
use crate::events::Publisher;
use crate::plan::EventDraft;
use crate::plan::meta::{Key, Kind, Meta};

/// The condition.
const WATCHING: &str = "multi-operator.example.com/Watching";
const POD: Kind = Kind { group: "", version: "v1", kind: "Pod", plural: "pods" };
/// What changes within so long is told together.
const SETTLES: Duration = Duration::from_secs(3);
/// How long what fails now may fail before it counts is told by no event.
const LOOK: Duration = Duration::from_secs(5);
/// When to try again after a write that was not answered.
const AGAIN: Duration = Duration::from_secs(10);

/// The Pod that this process runs in, and what its watches see.
pub struct OwnPod {
    /// Sends the writes.
    pub client: Client,
    /// The Pod.
    pub key: Key,
    /// What is watched.
    pub health: Vec<Arc<Health>>,
    /// Gets an Event for each transition.
    pub events: Publisher,
}

/// What has been told, and since when it was so.
struct LastReported {
    sight: WatchHealth,
    since: Timestamp,
}

impl OwnPod {
    /// Goes on until it is dropped; or until there turns out to be no such Pod.
    pub async fn run(self) {
        let mut watches: Vec<_> = self.health.iter().map(|health| health.subscribe()).collect();
        for watches in &mut watches {
            // The sender lives as long as the store, so this does not end early.
            drop(watches.wait_for(Watches::tried).await);
        }
        let mut told: Option<LastReported> = None;
        loop {
            let sight = self.settled().await;
            if told.as_ref().is_none_or(|told| told.sight != sight) {
                match self.tell(&sight, told.as_ref()).await {
                    Ok(now) => told = Some(now),
                    Err(kube::Error::Api(refusal)) if refusal.code == 404 => return,
                    Err(kube::Error::Api(refusal)) if (400..500).contains(&refusal.code) && refusal.code != 429 => {
                        tracing::warn!(pod = %self.key, "the condition {WATCHING} cannot be written: {}", refusal.message);
                        told = Some(LastReported { sight, since: Timestamp::now() });
                    }
                    Err(error) => {
                        tracing::debug!(pod = %self.key, %error, "the condition {WATCHING} is written later");
                        sleep(AGAIN).await;
                        continue;
                    }
                }
            }
            self.changed(&mut watches).await;
        }
    }

    /// What is seen, once that has stayed the same for a moment.
    async fn settled(&self) -> WatchHealth {
        let mut sight = self.sight();
        loop {
            sleep(SETTLES).await;
            let now = self.sight();
            if now == sight {
                return sight;
            }
            sight = now;
        }
    }

    fn sight(&self) -> WatchHealth {
        let unseen: Vec<_> = self.health.iter().flat_map(|health| health.blind()).collect();
        let crds: Vec<_> = self.health.iter().filter_map(|health| health.crd_trouble()).collect();
        WatchHealth::without(&unseen, &crds)
    }

    /// Waits until a watch fares otherwise; while one fails, not for long.
    async fn changed(&self, watches: &mut [watch::Receiver<Watches>]) {
        let change = select_all(watches.iter_mut().map(|watch| Box::pin(watch.changed())));
        if self.health.iter().any(|health| !health.failing().is_empty()) {
            drop(tokio::time::timeout(LOOK, change).await);
        } else {
            drop(change.await);
        }
    }

    async fn tell(&self, sight: &WatchHealth, before: Option<&LastReported>) -> Result<LastReported, kube::Error> {
        let turned = before.is_none_or(|before| before.sight.whole != sight.whole);
        let now = || Timestamp::now().round(Unit::Second).unwrap_or_default();
        let since = before.filter(|_| !turned).map_or_else(now, |before| before.since);
        let status = if sight.whole { ConditionStatus::True } else { ConditionStatus::False };
        let condition = json!({
            "type": WATCHING, "status": status, "reason": sight.reason.as_str(), "message": sight.message,
            "lastTransitionTime": since,
        });
        let pods: Api<PartialObjectMeta<Pod>> = Api::namespaced(self.client.clone(), &self.key.namespace);
        let patch = Patch::Strategic(json!({ "status": { "conditions": [condition] } }));
        let pod = pods.patch_status(&self.key.name, &PatchParams::default(), &patch).await?;
        // That all is seen is no news of a manager that has just started.
        if turned && (before.is_some() || !sight.whole) {
            let announcement =
                EventDraft { warning: !sight.whole, reason: sight.reason.into(), message: sight.message.clone() };
            self.events.publish(&POD, &self.meta(pod.metadata.uid.unwrap_or_default()), announcement);
        }
        Ok(LastReported { sight: sight.clone(), since })
    }

    fn meta(&self, uid: String) -> Meta {
        Meta {
            key: self.key.clone(),
            uid: uid.into(),
            version: 0,
            generation: 0,
            deleting: false,
            controller: None,
            finalizers: Box::default(),
        }
    }
}
