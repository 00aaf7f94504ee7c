//! An EtcdCluster in a test's namespace, as a person with kubectl sees it.

use std::collections::BTreeMap;

use api::etcd_cluster::{EtcdCluster, EtcdClusterStatus, MemberRole};
use api::{Condition, ConditionStatus, Contract};
use k8s_openapi::api::core::v1::{Event, PersistentVolumeClaim, Pod};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::kubectl::Answer;
use crate::namespace::{Namespace, RESTRICTED};
use crate::objects::ManagedKind;
use crate::recording::Recording;

mod acts;
mod volume;
mod writer;

pub use acts::Acts;
pub use volume::run_on_volume;
pub use writer::{Verdict, Writer};

/// The archived operator's example of a cluster, verbatim.
pub const OLD_EXAMPLE: &str = r#"apiVersion: "etcd.database.coreos.com/v1beta2"
kind: "EtcdCluster"
metadata:
  name: "example-etcd-cluster"
  ## Adding this annotation make this cluster managed by clusterwide operators
  ## namespaced operators ignore it
  # annotations:
  #   etcd.database.coreos.com/scope: clusterwide
spec:
  size: 3
  version: "3.2.13"
"#;

impl ManagedKind for EtcdCluster {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

/// How many tests have clusters of etcd at a time. Each has three members and more, and two processors have enough with
/// these: with many more, members miss each other's heartbeats.
const AT_A_TIME: usize = 4;
static TURNS: Semaphore = Semaphore::const_new(AT_A_TIME);

/// A namespace that enforces restricted pods: the operator's pods are always restricted.
///
/// # Panics
/// Never: the semaphore is never closed.
pub async fn namespace(purpose: &str) -> Namespace {
    let turn = TURNS.acquire().await.expect("turns are never closed");
    Namespace::labelled(purpose, &[RESTRICTED]).await.holding(turn)
}

/// An EtcdCluster with that spec, in YAML's short form.
#[must_use]
pub fn manifest(name: &str, spec: &str) -> String {
    let head = "apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdCluster";
    format!("{head}\nmetadata:\n  name: {name}\nspec: {spec}\n")
}

/// The status, if it speaks of the present generation.
#[must_use]
pub fn status(cluster: &EtcdCluster) -> Option<&EtcdClusterStatus> {
    cluster.status.as_ref().filter(|status| Some(status.contract.observed_generation) == cluster.metadata.generation)
}

/// The version in the spec, without its `v`.
fn desired_version(cluster: &EtcdCluster) -> &str {
    cluster.spec.version.as_deref().unwrap_or(api::etcd_cluster::DEFAULT_VERSION).trim_start_matches('v')
}

/// Whether it has converged with this number of voters, all healthy and of the desired version.
#[must_use]
pub fn runs(cluster: &EtcdCluster, members: usize) -> bool {
    let Some(status) = status(cluster).filter(|_| cluster.is_ready()) else { return false };
    let version = Some(desired_version(cluster).to_owned());
    let votes = |role| matches!(role, MemberRole::Leader | MemberRole::Follower);
    let leaders = status.member_statuses.iter().filter(|member| member.role == MemberRole::Leader).count();
    status.ready == Some(format!("{members}/{members}"))
        && usize::try_from(status.size) == Ok(members)
        && (status.members.ready.len(), status.members.unready.len()) == (members, 0)
        && status.member_statuses.len() == members
        && leaders == 1
        && status.member_statuses.iter().all(|m| m.id.is_some() && votes(m.role) && m.version == version)
        && status.current_version == version
}

/// Each member's ID by its name, from the status.
#[must_use]
pub fn ids(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    let statuses = cluster.status.iter().flat_map(|status| &status.member_statuses);
    statuses.filter_map(|member| Some((member.name.clone(), member.id.clone()?))).collect()
}

/// The id of the etcd cluster.
#[must_use]
pub fn cluster_id(cluster: &EtcdCluster) -> Option<&str> {
    cluster.status.as_ref()?.cluster_id.as_deref()
}

/// How many times a pod's etcd has been started again.
#[must_use]
pub fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    statuses.map(|container| container.restart_count).sum()
}

/// One EtcdCluster.
#[derive(Clone, Copy)]
pub struct Etcd<'a> {
    /// Where it is.
    pub ns: &'a Namespace,
    /// Its name.
    pub name: &'a str,
}

impl<'a> Etcd<'a> {
    /// Applies one with that spec, in YAML's short form.
    pub async fn apply(ns: &'a Namespace, name: &'a str, spec: &str) -> Self {
        ns.apply(&manifest(name, spec)).await;
        Self { ns, name }
    }

    /// Merges this into its spec, as `kubectl patch` does.
    pub async fn patch(&self, spec: Value) {
        self.ns.patch(&format!("etcdcluster/{}", self.name), &json!({ "spec": spec })).await;
    }

    /// `kubectl scale`, as people do.
    pub async fn scale(&self, size: usize) {
        let (object, replicas) = (format!("etcdcluster/{}", self.name), format!("--replicas={size}"));
        drop(self.ns.kubectl(&["scale", &object, &replicas]).await.ok());
    }

    /// It, as it is now.
    pub async fn now(&self) -> EtcdCluster {
        self.ns.get(self.name).await
    }

    /// Records all that it is from now on.
    pub async fn record(&self) -> Recording<EtcdCluster> {
        self.ns.record(self.name).await
    }

    /// Waits until it is done with so many voters.
    pub async fn runs(&self, members: usize) -> EtcdCluster {
        self.until(&format!("{members} healthy members"), |cluster| runs(cluster, members).then(|| cluster.clone()))
            .await
    }

    /// Waits until `judge` returns a value.
    pub async fn until<T>(&self, what: &str, mut judge: impl FnMut(&EtcdCluster) -> Option<T>) -> T {
        self.ns.until::<EtcdCluster, T>(self.name, what, |seen| judge(seen?)).await
    }

    /// Waits until a condition has that status and reason, for the present generation; returns its message.
    pub async fn says(&self, type_: &str, status: ConditionStatus, reason: &str) -> String {
        self.until(&format!("{type_} to be {status:?}, {reason}"), |cluster| {
            let found = cluster.condition(type_).filter(|found| (found.status, &*found.reason) == (status, reason));
            found.map(|condition| condition.message.clone())
        })
        .await
    }

    /// Waits until Ready is not True and its message has all these parts; returns the condition.
    pub async fn reports(&self, parts: &[&str]) -> Condition {
        self.until(&format!("Ready to speak of {parts:?}"), |cluster| {
            let ready = cluster.condition("Ready").filter(|ready| ready.status != ConditionStatus::True)?;
            parts.iter().all(|part| ready.message.contains(part)).then(|| ready.clone())
        })
        .await
    }

    /// Records what is done to its pods from now on.
    pub async fn acts(&self) -> Acts {
        Acts::record(self.ns.api(), self.of_members()).await
    }

    fn of_members(&self) -> ListParams {
        ListParams::default().labels(&format!("app=etcd,etcd_cluster={}", self.name))
    }

    /// Its pods, by name.
    pub async fn pods(&self) -> BTreeMap<String, Pod> {
        let pods = self.ns.api::<Pod>().list(&self.of_members()).await.expect("pods can be listed");
        pods.items.into_iter().map(|pod| (pod.name_any(), pod)).collect()
    }

    /// The uids of its pods, by name.
    pub async fn pod_uids(&self) -> BTreeMap<String, Option<String>> {
        self.pods().await.into_iter().map(|(name, pod)| (name, pod.uid())).collect()
    }

    /// Its PVCs, by name.
    pub async fn claims(&self) -> BTreeMap<String, PersistentVolumeClaim> {
        let claims = self.ns.api::<PersistentVolumeClaim>().list(&self.of_members()).await;
        claims.expect("claims can be listed").items.into_iter().map(|claim| (claim.name_any(), claim)).collect()
    }

    /// The UIDs of its PVCs, by name.
    pub async fn claim_uids(&self) -> BTreeMap<String, Option<String>> {
        self.claims().await.into_iter().map(|(name, claim)| (name, claim.uid())).collect()
    }

    /// Deletes these pods at once, and waits until none of them is what it was.
    pub async fn lose_pods<N: AsRef<str>>(&self, names: &[N]) {
        let before = self.pod_uids().await;
        for name in names {
            let deleted = self.ns.api::<Pod>().delete(name.as_ref(), &DeleteParams::default()).await;
            deleted.unwrap_or_else(|error| panic!("the pod {} cannot be deleted: {error}", name.as_ref()));
        }
        for name in names {
            let uid = &before[name.as_ref()];
            let other = |pod: Option<&Pod>| pod.is_none_or(|pod| pod.uid() != *uid).then_some(());
            self.ns.until::<Pod, ()>(name.as_ref(), "the pod to go", other).await;
        }
    }

    /// Deletes the volumes of these members, as a user does who removes even the finalizer that keeps them.
    pub async fn lose_volumes<N: AsRef<str>>(&self, members: &[N]) {
        for claim in members.iter().map(AsRef::as_ref) {
            drop(self.ns.kubectl(&["delete", "pvc", claim, "--wait=false"]).await.ok());
            self.ns.patch(&format!("pvc/{claim}"), &json!({ "metadata": { "finalizers": null } })).await;
        }
    }

    /// Reason and message of every Event of it, oldest first, each as often as it happened.
    pub async fn events(&self) -> Vec<(String, String)> {
        let of_it = format!("involvedObject.kind=EtcdCluster,involvedObject.name={}", self.name);
        let events = self.ns.api::<Event>().list(&ListParams::default().fields(&of_it)).await;
        let mut events = events.expect("events can be listed").items;
        events.sort_by_key(|event| event.metadata.creation_timestamp.clone());
        let reported = |event: Event| (event.reason.unwrap_or_default(), event.message.unwrap_or_default());
        events.into_iter().map(reported).collect()
    }

    /// Waits for an Event of that reason; returns its message.
    pub async fn announces(&self, reason: &str) -> String {
        self.ns
            .eventually(&format!("an Event {reason}"), || async {
                let events = self.events().await;
                let found = events.iter().find(|(said, _)| said == reason).map(|(_, message)| message.clone());
                found.ok_or_else(|| format!("{events:?}"))
            })
            .await
    }

    /// What a member's pod answers on its listener for metrics and health.
    pub async fn asks(&self, member: &str, path: &str) -> String {
        self.ns.proxied(member, 2381, path).await.unwrap_or_else(|error| panic!("{member}: {error}"))
    }

    /// etcdctl in a member's container.
    pub async fn etcdctl(&self, member: &str, arguments: &[&str]) -> Answer {
        let etcdctl = ["exec", member, "--container=etcd", "--", "/usr/local/bin/etcdctl"];
        self.ns.kubectl(&[&etcdctl, arguments].concat()).await
    }

    /// Writes a key, through one of the members.
    pub async fn put(&self, key: &str, value: &str) {
        drop(self.at_a_member(&["put", key, value]).await);
    }

    /// The value of a key, as one of the members has it; empty if there is none.
    pub async fn value(&self, key: &str) -> String {
        self.at_a_member(&["get", "--print-value-only", key]).await.trim().to_owned()
    }

    async fn at_a_member(&self, arguments: &[&str]) -> String {
        let pods = self.pods().await;
        let member = pods.keys().next().expect("a member");
        self.etcdctl(member, arguments).await.ok()
    }
}
