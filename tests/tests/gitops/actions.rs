//! What administrators do from Argo CD: each action changes the live object as it says, and the Application stays Synced.

use e2e::argocd::{self, Environment::Dev, Environment::Staging, SYNC_TIMEOUT, application, are_healthy, argocd};
use e2e::wait::wait_until;
use serde_json::Value;

use crate::stage::stage;

const APPLICATION: &str = "dev-instances";

/// Runs an action, as the button does.
async fn act(kind: &str, name: &str, action: &str) {
    act_in(APPLICATION, kind, name, action).await;
}

async fn act_in(application: &str, kind: &str, name: &str, action: &str) {
    let what = ["app", "actions", "run", application, action, "--kind", kind, "--resource-name", name];
    drop(argocd(&what).await.ok());
}

/// The actions that are offered, and whether they can be chosen.
async fn offered(kind: &str) -> Vec<(String, bool)> {
    let answer = argocd(&["app", "actions", "list", APPLICATION, "--kind", kind, "-o", "json"]).await.ok();
    let answer: Value = serde_json::from_str(&answer).expect("argocd prints JSON");
    let actions = answer.as_array().into_iter().flatten();
    actions.map(|one| (argocd::text(&one["Action"]), one["Disabled"] == false)).collect()
}

/// Waits until an object of dev matches.
async fn until_object(object: &str, what: &str, matches: impl Fn(&Value) -> bool) {
    wait_until(&format!("{object} to be {what}"), SYNC_TIMEOUT, || async {
        let live = Dev.instance(object).await;
        if matches(&live) { Ok(()) } else { Err(format!("{} {}", live["spec"], live["status"])) }
    })
    .await;
}

/// The UIDs of the pods that are not terminating. A test before this one may have left a pod that is.
async fn pods(selector: &str) -> Vec<String> {
    let selector = format!("--selector={selector}");
    let list = Dev.kubectl(&["get", "pods", "--namespace", "dev", &selector, "--output=json"]).await.ok();
    let list: Value = serde_json::from_str(&list).expect("kubectl prints JSON");
    let staying = list["items"].as_array().into_iter().flatten().map(|pod| &pod["metadata"]);
    let staying = staying.filter(|metadata| metadata.get("deletionTimestamp").is_none());
    let mut uids: Vec<_> = staying.map(|metadata| argocd::text(&metadata["uid"])).collect();
    uids.sort();
    uids
}

#[tokio::test]
async fn restart_makes_new_pods() {
    stage().await;
    let _turn = argocd::one_environment().await;
    for (kind, name, selector) in [
        ("MyApp", "web", "app.kubernetes.io/name=myapp,app.kubernetes.io/instance=web"),
        ("SampleDB", "orders", "app.kubernetes.io/name=sampledb,app.kubernetes.io/component=server"),
    ] {
        let before = pods(selector).await;
        assert_eq!(before.len(), 1, "{before:?}");
        assert!(offered(kind).await.contains(&("restart".to_owned(), true)), "{:?}", offered(kind).await);
        act(kind, name, "restart").await;
        wait_until("another pod", SYNC_TIMEOUT, || async {
            let now = pods(selector).await;
            let new = now.len() == 1 && now != before;
            if new { Ok(()) } else { Err(format!("{before:?} -> {now:?}")) }
        })
        .await;
        are_healthy(&[APPLICATION], None).await;
    }
}

#[tokio::test]
async fn pause_and_resume_are_respected_and_are_no_drift() {
    stage().await;
    let _turn = argocd::one_environment().await;
    for (kind, object) in
        [("MyApp", "myapp/web"), ("SampleDB", "sampledb/orders"), ("EtcdCluster", "etcdcluster/settings")]
    {
        let name = object.split_once('/').expect("kind and name").1;
        act(kind, name, "pause").await;
        until_object(object, "paused", |live| live["spec"]["paused"] == true).await;
        wait_until("Argo CD to say Suspended", SYNC_TIMEOUT, || async {
            let app = application(APPLICATION).await;
            let health = argocd::resource(&app, kind, name).map(|one| one["health"]["status"].clone());
            if health == Some("Suspended".into()) { Ok(()) } else { Err(argocd::not_ready(&app)) }
        })
        .await;
        argocd::compared(&[APPLICATION]).await;
        let app = application(APPLICATION).await;
        assert_eq!(app["status"]["sync"]["status"], "Synced", "{}", argocd::not_ready(&app));
        let offered = offered(kind).await;
        assert!(
            offered.contains(&("resume".to_owned(), true)) && offered.contains(&("pause".to_owned(), false)),
            "{offered:?}"
        );
        act(kind, name, "resume").await;
        until_object(object, "resumed", |live| live["spec"]["paused"] != true).await;
        are_healthy(&[APPLICATION], None).await;
    }
}

#[tokio::test]
async fn a_snapshot_is_taken_and_verified() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let names = || async {
        let line = ["get", "sampledbsnapshots", "--namespace", "dev", "--output=jsonpath={.items[*].metadata.name}"];
        let names = Dev.kubectl(&line).await.ok();
        names.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let before = names().await;
    act("SampleDB", "orders", "snapshot").await;
    let new = wait_until("another snapshot", SYNC_TIMEOUT, || async {
        let now = names().await;
        now.iter().find(|name| !before.contains(name)).cloned().ok_or_else(|| format!("{now:?}"))
    })
    .await;
    let object = format!("sampledbsnapshot/{new}");
    until_object(&object, "verified", |live| live["status"]["verification"]["phase"] == "Passed").await;
    assert_eq!(Dev.instance(&object).await["spec"]["reason"], "Manual");
    are_healthy(&[APPLICATION], None).await;
}

#[tokio::test]
async fn another_member_leads() {
    stage().await;
    let _turn = argocd::everything().await;
    let application = "staging-instances";
    // A cluster of one has no other member.
    assert!(offered("EtcdCluster").await.contains(&("move-leader".to_owned(), false)));
    let leader = || async { argocd::text(&Staging.instance("etcdcluster/settings").await["status"]["leader"]) };
    let before = leader().await;
    assert!(!before.is_empty(), "no member leads");
    act_in(application, "EtcdCluster", "settings", "move-leader").await;
    wait_until("another leader", SYNC_TIMEOUT, || async {
        let now = leader().await;
        if !now.is_empty() && now != before { Ok(()) } else { Err(format!("{before} -> {now}")) }
    })
    .await;
    are_healthy(&[application], None).await;
}
