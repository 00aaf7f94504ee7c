//! How long it takes, and what it costs, while nothing else runs.

use std::time::Duration;

use e2e::cluster;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::patience::{Bar, Moment};
use e2e::timing::Timing;
use tokio::time::sleep;

use crate::writes::{calls, lines, settled};

/// Machines differ, and so do runs: what is held against a bar is shown, and a failure is what is far from it.
const SLACK: u32 = 2;
const WINDOW: Duration = Duration::from_secs(120);

#[tokio::test]
#[ignore = "scripts/test --all long: it needs the cluster alone for 3 minutes"]
async fn to_3_to_5_to_3_one_pod_lost_and_idle() {
    let mut ns = namespace("etcd-times").await;
    ns.be_alone().await;
    let measured = |what: &str, begun: Moment, bar: u64| {
        let took = begun.passed();
        println!("{what}: {took} (bar: {bar} s)");
        let held = Bar::work(SLACK * Duration::from_secs(bar)).holds(what, took.real, took.slowness());
        held.unwrap_or_else(|missed| panic!("{missed}"));
    };
    let timing = Timing::exclusive().await;
    let begun = Moment::now();
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    etcd.runs(3).await;
    measured("0 -> 3 voters", begun, 13);
    let begun = Moment::now();
    etcd.scale(5).await;
    etcd.runs(5).await;
    measured("3 -> 5", begun, 11);
    let begun = Moment::now();
    etcd.scale(3).await;
    let three = etcd.runs(3).await;
    measured("5 -> 3", begun, 6);

    let writer = Writer::start(&etcd).await;
    let (lost, begun) = (ids(&three).into_keys().next().expect("members"), Moment::now());
    etcd.lose_pods(&[&lost]).await;
    let after = etcd.runs(3).await;
    measured("one pod deleted: back to full health", begun, 4);
    drop(timing);
    assert_eq!(ids(&after), ids(&three));
    writer.verdict(&after).await;
    drop(ns.kubectl(&["delete", "pod/web-writer"]).await.ok());

    let audit = cluster::audit();
    settled(&audit, &ns).await;
    let quiet = audit.mark().expect("the audit log can be read");
    sleep(WINDOW).await;
    let asked = calls(&quiet, &ns);
    assert!(asked.is_empty(), "{WINDOW:?} of a cluster that is as wished cost requests:\n{}", lines(&asked));
}
