//! Growing and shrinking under writes, one member at a time.

use std::time::{Duration, Instant};

use api::ConditionStatus;
use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::objects::ManagedKind;
use kube::ResourceExt;

/// How long writes may be refused by what we do ourselves.
const REFUSAL: Duration = Duration::from_secs(5);

/// TestResizeCluster3to5 and TestResizeCluster5to3 of coreos/etcd-operator.
#[tokio::test]
#[ignore = "scripts/test --all long: what the test of 1 to 3 does, with more members"]
async fn from_3_to_5_and_back() {
    let ns = namespace("etcd-resize").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let three = etcd.runs(3).await;
    let (writer, history) = (Writer::start(&etcd).await, etcd.record().await);
    let begun = Instant::now();
    etcd.patch(serde_json::json!({ "size": 5 })).await;
    let message = etcd.says("Scaling", ConditionStatus::True, "ScalingUp").await;
    assert!(message.contains("desired cluster size: 5"), "{message}");
    let five = etcd.runs(5).await;
    println!("3 -> 5; other tests ran meanwhile: {:.1?}", begun.elapsed());
    assert!(ids(&three).iter().all(|member| ids(&five).get(member.0) == Some(member.1)), "who was there stays");
    writer.verdict(&five).await.never_refused_for(REFUSAL);

    let begun = Instant::now();
    etcd.patch(serde_json::json!({ "size": 3 })).await;
    let left = etcd.runs(3).await;
    println!("5 -> 3; other tests ran meanwhile: {:.1?}", begun.elapsed());
    assert!(ids(&left).iter().all(|member| ids(&five).get(member.0) == Some(member.1)), "who is there was there");
    one_at_a_time(&history.objects());
    writer.writes(20).await;
    writer.verdict(&left).await.never_refused_for(REFUSAL);
    let removed = etcd.events().await.into_iter().filter(|(reason, _)| reason == "Member Removed").count();
    assert_eq!(removed, 2);

    // Volumes of removed members are kept, marked as such.
    etcd.ns
        .eventually("3 pods, and 2 claims that are retired", || async {
            let (pods, claims) = (etcd.pods().await, etcd.claims().await);
            let retired =
                claims.values().filter(|claim| claim.labels().contains_key("multi-operator.example.com/retired"));
            let fine = pods.keys().eq(ids(&left).keys()) && retired.count() == 2 && claims.len() == 5;
            if fine {
                Ok(())
            } else {
                Err(format!("{:?}", claims.values().map(ResourceExt::labels).collect::<Vec<_>>()))
            }
        })
        .await;
}

/// A member that joins gets a snapshot if the log does not go back to its beginning, and has applied nothing after it until the
/// next entry comes: with more than 5,000 entries before that it neither publishes its name nor votes. No client writes one here.
#[tokio::test]
#[ignore = "scripts/test --all long: seven thousand entries are written"]
async fn an_idle_cluster_with_a_long_history_grows_and_replaces_a_member() {
    const ENTRIES: u64 = 7_000;
    let ns = namespace("etcd-idle").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, options: {snapshot-count: '1000'}}").await;
    let member = ids(&etcd.runs(1).await).into_keys().next().expect("a member");
    let writer = Writer::with(&etcd, 0, 8).await;
    writer.writes(ENTRIES).await;
    writer.stop().await;
    let count = async |member: &str| {
        let said = etcd.etcdctl(member, &["get", "", "--from-key", "--count-only", "--write-out=fields"]).await.ok();
        let count =
            said.lines().find_map(|line| line.strip_prefix("\"Count\" : ")).and_then(|count| count.parse().ok());
        count.unwrap_or_else(|| panic!("no count: {said}"))
    };
    let before: u64 = count(&member).await;
    etcd.scale(3).await;
    let grown = etcd.runs(3).await;
    println!("{ENTRIES} entries and more, {before} keys, and three members");
    let lost = ids(&grown).into_keys().find(|name| *name != member).expect("three members");
    drop(ns.kubectl(&["delete", &format!("pod/{lost}"), &format!("persistentvolumeclaim/{lost}")]).await.ok());
    etcd.until("another member in the place of one without data", |cluster| {
        let status = cluster.status.as_ref()?;
        let three = status.ready.as_deref() == Some("3/3") && status.member_statuses.len() == 3;
        (three && status.member_statuses.iter().all(|member| member.name != lost)).then_some(())
    })
    .await;
    for member in ids(&etcd.runs(3).await).keys() {
        assert_eq!(count(member).await, before, "{member}");
    }
}

fn one_at_a_time(history: &[EtcdCluster]) {
    let sizes: Vec<i32> =
        history.iter().filter_map(|cluster| cluster.status.as_ref()).map(|status| status.size).collect();
    assert!(sizes.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 1), "{sizes:?}");
}

/// TestScaling of etcd-io/etcd-operator, 1 -> 3 and 3 -> 1; by way of 2, where a member that does not start would cost
/// quorum. `kubectl scale` is enough.
#[tokio::test]
async fn from_1_by_2_to_3_and_back_to_1() {
    let ns = namespace("etcd-scale").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, storage: {onDelete: Delete}}").await;
    let one = etcd.runs(1).await;
    let writer = Writer::start(&etcd).await;
    etcd.scale(2).await;
    let two = etcd.runs(2).await;
    let even = two.condition("Warning").expect("a warning of an even size");
    assert_eq!((even.status, &*even.reason), (ConditionStatus::True, "EvenSize"), "{even:?}");
    assert!(even.message.contains("odd"), "{even:?}");
    etcd.announces("EvenSize").await;
    etcd.scale(3).await;
    let three = etcd.runs(3).await;
    assert!(three.condition("Warning").is_none(), "{:?}", three.condition("Warning"));
    writer.verdict(&three).await.never_refused_for(REFUSAL);
    etcd.scale(1).await;
    let last = etcd.runs(1).await;
    assert!(ids(&three).iter().any(|member| ids(&last).get(member.0) == Some(member.1)));
    assert_eq!(e2e::etcd::cluster_id(&one), e2e::etcd::cluster_id(&last));
    writer.writes(20).await;
    writer.verdict(&last).await.never_refused_for(REFUSAL);
    etcd.ns
        .eventually("the volumes of the others to be deleted", || async {
            let claims = etcd.claims().await;
            if claims.keys().eq(ids(&last).keys()) { Ok(()) } else { Err(format!("{:?}", claims.keys())) }
        })
        .await;
}
