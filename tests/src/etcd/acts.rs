//! Records what happens to members' pods, in order, from a watch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use tokio::task::JoinHandle;

use crate::objects::serves;

/// Watches pods until it is dropped.
pub struct Acts {
    seen: Arc<Mutex<Vec<WatchEvent<Pod>>>>,
    watching: JoinHandle<()>,
}

impl Acts {
    /// Begins, with the pods that there are.
    pub(super) async fn record(api: Api<Pod>, which: ListParams) -> Self {
        let now = api.list(&which).await.expect("pods can be listed");
        let mut version = now.metadata.resource_version.unwrap_or_default();
        let seen = Arc::new(Mutex::new(now.items.into_iter().map(WatchEvent::Added).collect::<Vec<_>>()));
        let (record, labels) = (seen.clone(), which.label_selector.unwrap_or_default());
        let watching = tokio::spawn(async move {
            // The API server ends each watch after a while; the next one continues there.
            let watch = WatchParams::default().labels(&labels).timeout(240);
            while let Ok(events) = api.watch(&watch, &version).await {
                let mut events = Box::pin(events);
                while let Some(Ok(event)) = events.next().await {
                    match &event {
                        WatchEvent::Added(pod) | WatchEvent::Modified(pod) | WatchEvent::Deleted(pod) => {
                            version = pod.resource_version().unwrap_or_default();
                        }
                        WatchEvent::Bookmark(mark) => version = mark.metadata.resource_version.clone(),
                        // What was missed cannot be had any more.
                        WatchEvent::Error(_) => return,
                    }
                    record.lock().unwrap_or_else(PoisonError::into_inner).push(event);
                }
            }
        });
        Self { seen, watching }
    }

    /// Asserts that no pod was deleted, and no etcd restarted, while another pod was not ready.
    ///
    /// # Panics
    /// If that happened, or if the watch has failed.
    pub fn never_two_at_once(&self) {
        assert!(!self.watching.is_finished(), "watching pods has failed");
        let mut pods: BTreeMap<String, Pod> = BTreeMap::new();
        for event in self.seen.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    let name = pod.name_any();
                    if pods.get(&name).is_some_and(|before| is_disturbed(before, pod)) {
                        let others: Vec<_> = pods.iter().filter(|(other, _)| **other != name).collect();
                        let reported: Vec<_> =
                            others.iter().map(|(name, pod)| format!("{name}: {}", shown(pod))).collect();
                        assert!(
                            others.iter().all(|(_, pod)| serves(pod)),
                            "{name} was taken while another did not serve:\n{name}: {}\n{}",
                            shown(pod),
                            reported.join("\n")
                        );
                    }
                    pods.insert(name, pod.clone());
                }
                WatchEvent::Deleted(pod) => drop(pods.remove(&pod.name_any())),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => {}
            }
        }
    }
}

/// Whether a pod was deleted, or got another image.
fn is_disturbed(before: &Pod, after: &Pod) -> bool {
    let images =
        |pod: &Pod| pod.spec.iter().flat_map(|spec| &spec.containers).map(|c| c.image.clone()).collect::<Vec<_>>();
    let deleted = before.metadata.deletion_timestamp.is_none() && after.metadata.deletion_timestamp.is_some();
    deleted || images(before) != images(after)
}

/// What matters of a pod, in one line.
fn shown(pod: &Pod) -> String {
    let status = pod.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
    let container = status.container_statuses.iter().flatten().next();
    format!(
        "asked to run {:?}, runs {:?}, started {:?} times, Ready {:?} since {:?}, deleted {:?}",
        pod.spec.as_ref().and_then(|spec| spec.containers.first()?.image.clone()),
        container.map(|container| &container.image),
        container.map(|container| container.restart_count + 1),
        ready.map(|ready| &ready.status),
        ready.and_then(|ready| ready.last_transition_time.as_ref()),
        pod.metadata.deletion_timestamp
    )
}

impl Drop for Acts {
    fn drop(&mut self) {
        self.watching.abort();
    }
}
