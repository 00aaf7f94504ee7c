//! etcd's own member lists, polled from every member.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde::Deserialize;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use e2e::etcd::Etcd;

const PAUSE: Duration = Duration::from_millis(200);

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Member {
    name: String,
    is_learner: bool,
}

#[derive(Deserialize)]
struct List {
    members: Vec<Member>,
}

/// The member, and its list.
type Listed = (String, Vec<Member>);

/// Polls until it is dropped.
pub struct Lists {
    seen: Arc<Mutex<Vec<Listed>>>,
    asking: JoinHandle<()>,
}

impl Lists {
    pub fn record(etcd: &Etcd<'_>) -> Self {
        let seen = Arc::<Mutex<Vec<Listed>>>::default();
        let (client, namespace, pods) = (etcd.ns.client.clone(), etcd.ns.name.clone(), etcd.ns.api::<Pod>());
        let (record, labels) = (seen.clone(), format!("app=etcd,etcd_cluster={}", etcd.name));
        let asking = tokio::spawn(async move {
            loop {
                for pod in names(&pods, &labels).await {
                    if let Some(list) = ask(&client, &namespace, &pod).await {
                        let mut seen = record.lock().unwrap_or_else(PoisonError::into_inner);
                        if seen.iter().rev().find(|(of, _)| *of == pod).is_none_or(|(_, last)| *last != list) {
                            seen.push((pod, list));
                        }
                    }
                }
                sleep(PAUSE).await;
            }
        });
        Self { seen, asking }
    }

    /// Never were two members on their way in at a time, nor were there fewer members or more than these.
    ///
    /// # Panics
    /// If there were, or if no list was had.
    pub fn one_at_a_time(&self, fewest: usize, most: usize) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(!seen.is_empty(), "no member has listed the members");
        for (of, list) in seen.iter() {
            let coming = list.iter().filter(|member| member.is_learner || member.name.is_empty()).count();
            assert!(coming <= 1, "{of} listed two that were on their way in: {list:?}");
            assert!((fewest..=most).contains(&list.len()), "{of} listed {}: {list:?}", list.len());
        }
    }
}

impl Drop for Lists {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

async fn names(pods: &Api<Pod>, labels: &str) -> Vec<String> {
    let pods = pods.list(&ListParams::default().labels(labels)).await;
    pods.map(|pods| pods.items.iter().map(ResourceExt::name_any).collect()).unwrap_or_default()
}

/// What the member in that pod has applied; nothing while it does not answer.
async fn ask(client: &Client, namespace: &str, pod: &str) -> Option<Vec<Member>> {
    let url = format!("/api/v1/namespaces/{namespace}/pods/{pod}:2379/proxy/v3/cluster/member/list");
    let answer = client.request::<List>(http::Request::post(url).body(b"{}".to_vec()).ok()?).await;
    answer.ok().map(|list| list.members)
}
