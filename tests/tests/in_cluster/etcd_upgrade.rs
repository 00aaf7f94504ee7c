//! Rolling to another version: one member at a time, under writes, and no further than the first that fails.

use std::time::{Duration, Instant};

use api::ConditionStatus;
use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{Etcd, Writer, ids, namespace, restarts};
use e2e::objects::{ManagedKind, serves};
use serde_json::json;

/// How long writes may be refused by an upgrade.
const REFUSAL: Duration = Duration::from_secs(5);

/// TestEtcdUpgrade of coreos/etcd-operator, and on through each minor version.
#[tokio::test]
async fn from_3_4_to_3_7_under_writes() {
    let ns = namespace("etcd-upgrade").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.4.23}").await;
    let before = etcd.runs(3).await;
    let (members, pods, claims) = (ids(&before), etcd.pod_uids().await, etcd.claim_uids().await);
    let (writer, history, acts) = (Writer::start(&etcd).await, etcd.record().await, etcd.acts().await);
    let mut running = "3.4.23".to_owned();
    for (upgrade, version) in ["3.5.35", "3.6.16", "3.7.3"].into_iter().enumerate() {
        let begun = Instant::now();
        etcd.patch(json!({ "version": version })).await;
        let message = etcd.says("Upgrading", ConditionStatus::True, "ClusterUpgrading").await;
        assert_eq!(message, format!("upgrading to {version}"));
        let during = etcd.now().await;
        let reported = during.status.as_ref().map(|s| (s.current_version.clone(), s.target_version.clone()));
        assert_eq!(reported, Some((Some(running), Some(version.to_owned()))), "current stays until all have followed");
        let after = etcd.runs(3).await;
        println!("{version}: all three after {:.1?}; other tests ran meanwhile", begun.elapsed());
        assert_eq!(ids(&after), members);
        let restarted: Vec<i32> = etcd.pods().await.values().map(restarts).collect();
        assert_eq!(restarted, [i32::try_from(upgrade).expect("few") + 1; 3], "each was started again once a version");
        writer.writes(10).await;
        let verdict = writer.verdict(&after).await;
        assert!(verdict.members.iter().all(|member| member.version == version), "{verdict:#?}");
        verdict.never_refused_for(REFUSAL);
        running = version.to_owned();
    }
    assert_eq!(
        (etcd.pod_uids().await, etcd.claim_uids().await),
        (pods, claims),
        "pods stay, only etcd is started again"
    );
    acts.never_two_at_once();
    at_most_one_behind(&history.objects());
    let upgraded = etcd.events().await.into_iter().filter(|(reason, _)| reason == "Member Upgraded").count();
    assert_eq!(upgraded, 9);
}

/// 3.7 does not read what 3.5 left in the log, which is deleted only with the next snapshot: after a million entries here.
#[tokio::test]
#[ignore = "scripts/test --all long: a million entries are written"]
async fn from_3_6_with_a_million_entries_between_snapshots() {
    let ns = namespace("etcd-million").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.5.35, options: {snapshot-count: '1000000'}}").await;
    let members = ids(&etcd.runs(3).await);
    let writer = Writer::start(&etcd).await;
    writer.writes(100).await;
    for version in ["3.6.16", "3.7.3"] {
        let begun = Instant::now();
        etcd.patch(json!({ "version": version })).await;
        etcd.until("all three of the version", |cluster| {
            let running = cluster.status.as_ref()?.current_version.as_deref();
            (running == Some(version) && cluster.is_ready()).then_some(())
        })
        .await;
        println!("{version}: all three after {:.1?}", begun.elapsed());
    }
    let after = etcd.runs(3).await;
    assert_eq!(ids(&after), members);
    writer.writes(10).await;
    writer.verdict(&after).await;
}

/// Of the versions that members ran at any time, no more than two, and neighbours.
fn at_most_one_behind(history: &[EtcdCluster]) {
    for cluster in history {
        let statuses = cluster.status.iter().flat_map(|status| &status.member_statuses);
        let versions: std::collections::BTreeSet<_> = statuses.filter_map(|member| member.version.clone()).collect();
        assert!(versions.len() <= 2, "{versions:?}");
    }
}

/// No member gets an image that cannot be pulled; the upgrade continues when the version is corrected, or ends when it is
/// reverted.
#[tokio::test]
async fn stops_at_a_version_without_an_image() {
    let ns = namespace("etcd-no-image").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, version: 3.5.35}").await;
    let members = ids(&etcd.runs(3).await);
    let (writer, acts) = (Writer::start(&etcd).await, etcd.acts().await);
    for (bad, next) in [("3.5.99", "3.5.35"), ("3.6.99", "3.6.16")] {
        etcd.patch(json!({ "version": bad })).await;
        let reported =
            etcd.reports(&[&format!("image quay.io/coreos/etcd:v{bad} cannot be pulled"), "no member"]).await;
        println!("of an upgrade to {bad} it says {}: {}", reported.reason, reported.message);
        assert_eq!(reported.reason.as_str(), "ImageUnavailable");
        let pods = etcd.pods().await;
        let untouched = |pod: &&k8s_openapi::api::core::v1::Pod| {
            let spec = pod.spec.as_ref().expect("a pod has a spec");
            serves(pod) && spec.containers[0].image.as_deref() != Some(&*format!("quay.io/coreos/etcd:v{bad}"))
        };
        assert_eq!(pods.values().filter(untouched).count(), 3, "all are left alone");
        let stopped = etcd.now().await;
        assert!(stopped.condition("QuorumHealthy").is_some_and(|c| c.status == ConditionStatus::True));
        writer.writes(20).await;
        etcd.patch(json!({ "version": next })).await;
        let after = etcd.runs(3).await;
        assert_eq!(ids(&after), members);
        ns.until_deleted::<k8s_openapi::api::core::v1::Pod>("web-pull").await;
        writer.verdict(&after).await.never_refused_for(REFUSAL);
    }
    acts.never_two_at_once();
}

/// What etcd's own rules forbid is refused with a condition, and nothing is started again.
#[tokio::test]
async fn what_etcd_forbids_is_refused() {
    let ns = namespace("etcd-refused").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, version: v3.5.16}").await;
    let before = etcd.runs(1).await;
    let pods = etcd.pod_uids().await;
    let stays = async |expected: &str| {
        let message = etcd.says("Stalled", ConditionStatus::True, "UpgradeRefused").await;
        println!("refused: {message}");
        assert!(message.contains(expected), "{message}");
        let pod = etcd.pods().await.into_values().next().expect("a pod");
        assert!(serves(&pod) && restarts(&pod) == 0);
        let image = pod.spec.and_then(|spec| spec.containers[0].image.clone());
        assert_eq!(image.as_deref(), Some("quay.io/coreos/etcd:v3.5.16"));
        assert_eq!(etcd.pod_uids().await, pods);
        let status = etcd.now().await.status.expect("a status");
        assert_eq!(status.current_version.as_deref(), Some("3.5.16"));
        assert!(status.contract.is_true("Available") && status.contract.is_true("QuorumHealthy"));
    };
    for (version, expected) in [
        ("3.4.23", "etcd cannot be downgraded from 3.5.16 to 3.4.23"),
        ("3.7.3", "one minor version at a time"),
        ("3.6.16", "3.5.26 or later"),
    ] {
        etcd.patch(json!({ "version": version })).await;
        stays(expected).await;
    }
    etcd.patch(json!({ "version": "3.5.16" })).await;
    let after = etcd.runs(1).await;
    assert!(after.condition("Stalled").is_none());
    assert_eq!((ids(&after), etcd.pod_uids().await), (ids(&before), pods));
}
