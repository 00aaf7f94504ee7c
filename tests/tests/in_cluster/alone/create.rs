//! The documented MyApp becomes running pods.

use std::time::Duration;

use api::my_app::{MyApp, MyAppPhase};
use e2e::cluster;
use e2e::kubectl::kubectl_within;
use e2e::namespace::Namespace;
use e2e::objects::{phase, runs, status};
use e2e::patience::{Bar, Moment};
use e2e::timing::Timing;
use k8s_openapi::api::apps::v1::Deployment;

use crate::writes::{lines, to, writes};

/// config/samples/my_app.yaml, which is what the documentation shows.
const DOCUMENTED: &str = include_str!("../../../../config/samples/my_app.yaml");
const NAME: &str = "sample-app";
/// From the manifest to pods that are ready. The promise is 8 s; a failure is what is far from it.
const MADE: Bar = Bar::work(Duration::from_secs(20));

#[tokio::test]
async fn the_documented_manifest_becomes_three_ready_pods() {
    let ns = Namespace::alone("create").await;
    let audit = cluster::audit();
    let history = ns.record::<MyApp>(NAME).await;
    let timing = Timing::exclusive().await;
    let begun = Moment::now();
    ns.apply(DOCUMENTED).await;
    let pods_ready = ns.until::<Deployment, _>(NAME, "3 ready pods", |deployment| {
        (deployment?.status.as_ref()?.ready_replicas? == 3).then(|| begun.passed())
    });
    let all_told =
        ns.until::<MyApp, _>(NAME, "the MyApp to run", |app| runs(app?, 3).then(|| (app.cloned(), begun.passed())));
    let (pods_ready, (app, reported)) = tokio::join!(pods_ready, all_told);
    drop(timing);
    println!("apply to 3 ready pods: {pods_ready}; to Ready=True: {reported} (bar: 8 s)");
    let created = MADE.holds("3 ready pods", pods_ready.real, pods_ready.slowness());
    created.unwrap_or_else(|missed| panic!("{missed}"));

    let app = app.expect("it runs");
    let last = status(&app).expect("it has a status");
    assert_eq!((last.ready.as_deref(), last.image.as_deref()), (Some("3/3"), Some("nginx:1.25")));
    assert_eq!(last.contract.conditions.len(), 1, "only Ready is left: {:?}", last.contract.conditions);
    let early = history.objects().into_iter().find(|app| {
        phase(app) == Some(MyAppPhase::Running) && status(app).is_some_and(|status| status.ready_replicas < 3)
    });
    assert!(early.is_none(), "it said Running before all pods were ready: {early:?}");

    let columns = ns.kubectl(&["get", "myapp", NAME]).await.ok();
    let (head, row) = columns.trim_end().split_once('\n').expect("a head and a row");
    assert_eq!(head.split_whitespace().collect::<Vec<_>>(), ["NAME", "READY", "PHASE", "IMAGE", "AGE"]);
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells[..4], [NAME, "3/3", "Running", "nginx:1.25"], "{columns}");
    let wait = ["wait", "--namespace", &ns.name, "--for=condition=Ready", &format!("myapp/{NAME}")];
    drop(kubectl_within(Duration::from_secs(5), &wait).await.ok());

    let written = writes(&audit, &ns);
    // On a slow machine, the status counts pods before any is ready.
    let numbers = |app: &MyApp| app.status.as_ref().map(|status| (status.replicas, status.ready_replicas));
    let reported: Vec<(i32, i32)> = history.objects().iter().filter_map(numbers).collect();
    let values = reported.windows(2).filter(|pair| pair[0] != pair[1]).count();
    println!("writes of the manager: {} with {values} changes of reported numbers\n{}", written.len(), lines(&written));
    // The Deployment, the first status, Ready; and one for each pair of numbers on the way to the last.
    assert!(
        written.len() <= 3 + values.saturating_sub(1),
        "too many writes:\n{}\n{:#?}",
        lines(&written),
        statuses(&history.objects())
    );
    assert_eq!(to(&written, "deployments").len(), 1, "one request makes the Deployment:\n{}", lines(&written));
}

/// What status said, without its conditions' times.
fn statuses(history: &[MyApp]) -> Vec<String> {
    let reported = history.iter().filter_map(|app| app.status.as_ref());
    reported
        .map(|status| {
            let conditions =
                status.contract.conditions.iter().map(|c| format!("{}={:?} {}", c.type_, c.status, c.message));
            let counts = [status.replicas, status.updated_replicas, status.ready_replicas];
            format!("{:?} {counts:?} {:?}", status.phase, conditions.collect::<Vec<_>>())
        })
        .collect()
}
