//! EtcdClusters whose members cannot reach the desired state.

use std::time::Duration;

use api::etcd_cluster::MemberRole;
use e2e::cluster;
use e2e::etcd::{self, Etcd, Writer, ids};
use e2e::namespace::Namespace;
use e2e::objects::serves;
use e2e::patience::timeout;
use e2e::wait::DEFAULT_TIMEOUT;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;
use tokio::time::sleep;

use super::clusters::{SETTLES, WEB};
use super::count::counted;
use super::{Says, Server, Wedge, reached, state};
use crate::etcd_diagnosis::class;

#[tokio::test]
#[ignore = "scripts/test --all long: minutes in which nothing gets better are counted"]
async fn an_etcd_cluster_whose_members_get_no_further_costs_little() {
    let turn = etcd::namespace("wedged-members").await;
    let audit = cluster::audit();
    // The learner comes last: ten minutes after it has joined it is replaced.
    let (wedges, mut wrong) = reached(vec![
        state("a database that is full, on a volume that decides its quota", &turn, full_database),
        state("a roll halted by an option that etcd does not take, then a healthy pod lost", &turn, halted_roll),
        state("an image that cannot be pulled", &turn, no_image),
        state("a data volume that cannot grow", &turn, no_expansion),
        state("a claim that is being deleted, and no volume for a member in its place", &turn, terminating_claim),
        state("a learner that never starts, and the pod of the next member", &turn, stuck_learner),
    ])
    .await;
    wrong.extend(counted(&audit, &wedges, SETTLES).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The operator derives the quota from the volume, so that the volume itself does not become full.
async fn full_database(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {size: 512Mi, storageClassName: sized}}").await;
    etcd.runs(1).await;
    let writer = Writer::with(&etcd, 5, 500_000).await;
    Wedge::said(&ns, Says::stalled(WEB, "NoSpace")).await;
    writer.stop().await;
    Wedge::reached(ns, Says::stalled(WEB, "NoSpace"), Server::None).await
}

async fn halted_roll(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.6.16}").await;
    etcd.runs(3).await;
    etcd.patch(json!({ "options": { "max-wals": "many" } })).await;
    etcd.reports(&["max-wals"]).await;
    let pods = etcd.pods().await;
    let healthy: Vec<&String> = pods.iter().filter(|(_, pod)| serves(pod)).map(|(name, _)| name).collect();
    assert_eq!(healthy.len(), 2, "the roll halts at its first member, and these are left: {healthy:?}");
    etcd.lose_pods(&healthy[..1]).await;
    let what = "the lost pod to come back as it ran before";
    ns.until::<Pod, ()>(healthy[0], what, |pod| pod.is_some_and(serves).then_some(())).await;
    etcd.reports(&["max-wals"]).await;
    Wedge::reached(ns, Says::new(WEB, "Ready", "False", ""), Server::None).await
}

/// No member gets it, be it the only one.
async fn no_image(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 1, version: 3.6.16}").await;
    etcd.runs(1).await;
    etcd.patch(json!({ "version": "3.6.99" })).await;
    etcd.reports(&["etcd:v3.6.99 cannot be pulled"]).await;
    assert!(etcd.pods().await.values().all(serves), "the member serves on");
    Wedge::reached(ns, Says::stalled(WEB, "ImageUnavailable"), Server::None).await
}

/// The default StorageClass does not allow volume expansion.
async fn no_expansion(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {size: 64Mi}}").await;
    etcd.runs(1).await;
    etcd.patch(json!({ "storage": { "size": "128Mi" } })).await;
    Wedge::reached(ns, Says::stalled(WEB, "Forbidden"), Server::None).await
}

/// The member in its place waits for a volume of a StorageClass that is deleted.
async fn terminating_claim(ns: Namespace) -> Wedge {
    let class_name = ns.name.clone();
    ns.apply(&class(&class_name).await).await;
    let etcd = Etcd::apply(&ns, "web", &format!("{{size: 1, storage: {{storageClassName: {class_name}}}}}")).await;
    let member = ids(&etcd.runs(1).await).into_keys().next().expect("a member");
    drop(ns.kubectl(&["delete", &format!("storageclass/{class_name}")]).await.ok());
    drop(ns.kubectl(&["delete", &format!("persistentvolumeclaim/{member}"), "--wait=false"]).await.ok());
    etcd.reports(&["is not bound"]).await;
    Wedge::reached(ns, Says::new(WEB, "Warning", "True", "ClaimTerminating"), Server::None).await
}

/// Takes the image of the second member's pod away before etcd lists it, which takes until its init step runs.
async fn stuck_learner(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let first = etcd.runs(1).await;
    etcd.scale(3).await;
    let known = ids(&first);
    let appears = async {
        loop {
            if let Some(name) = etcd.pods().await.into_keys().find(|name| !known.contains_key(name)) {
                return name;
            }
            // Not by the usual wait, which polls too rarely for this.
            sleep(Duration::from_millis(20)).await;
        }
    };
    let newcomer =
        timeout(DEFAULT_TIMEOUT, appears).await.unwrap_or_else(|late| panic!("no second member's pod: {late}"));
    drop(ns.kubectl(&["set", "image", &format!("pod/{newcomer}"), "etcd=quay.io/coreos/etcd:none"]).await.ok());
    etcd.until("a listed member that does not vote, and whose image is missing", |cluster| {
        let status = cluster.status.as_ref()?;
        let member = status.member_statuses.iter().find(|member| member.name == newcomer)?;
        let learns = member.id.is_some() && matches!(member.role, MemberRole::Learner | MemberRole::Joining);
        let ready = e2e::objects::ManagedKind::condition(cluster, "Ready")?;
        (learns && ready.message.contains("cannot be pulled")).then_some(())
    })
    .await;
    Wedge::reached(ns, Says::new(WEB, "Ready", "False", ""), Server::None).await
}
