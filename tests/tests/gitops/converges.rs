//! From nothing: every environment gets Synced and Healthy, one after the other, and stays so with each way of comparing.

use e2e::argocd::{self, APPLICATIONS, Environment, SYNC_TIMEOUT, application, resources, text};
use e2e::wait::wait_until;
use serde_json::json;

use crate::stage::stage;

const ENVIRONMENTS: [&str; 3] = ["dev-", "staging-", "production-"];

/// Prints how long each step took, and checks the order.
#[tokio::test]
async fn environments_follow_one_another_and_end_synced_and_healthy() {
    let stage = stage().await;
    assert!(
        stage.fresh,
        "the ApplicationSet was there before: this test needs clusters that are new (scripts/cluster down, up)"
    );
    for pair in ENVIRONMENTS.windows(2) {
        let of = |environment: &'static str| APPLICATIONS.into_iter().filter(move |name| name.starts_with(environment));
        for (before, after) in of(pair[0]).flat_map(|before| of(pair[1]).map(move |after| (before, after))) {
            let healthy = stage.seen.iter().position(|seen| seen.name == before && seen.is_healthy());
            let begun = stage.seen.iter().position(|seen| seen.name == after && !seen.phase.is_empty());
            let (healthy, begun) = (healthy.expect("it got healthy"), begun.expect("it was synced"));
            assert!(healthy < begun, "{after} was synced before {before} was healthy:\n{:#?}", stage.seen);
        }
    }
    println!("from nothing to {} Applications that are Synced and Healthy: {:.0?}", APPLICATIONS.len(), stage.took);
    for name in APPLICATIONS {
        let first = &application(name).await["status"]["history"][0];
        println!("{name}: synced first from {} to {}", text(&first["deployStartedAt"]), text(&first["deployedAt"]));
    }
}

/// Three environments are what they say: each has what runs for its custom resources, and nothing of the others.
#[tokio::test]
async fn every_environment_runs_its_own_instances() {
    stage().await;
    let _turn = argocd::read_only().await;
    for environment in Environment::all() {
        for object in ["myapp/web", "sampledb/orders", "etcdcluster/settings", "sample/greeting"] {
            let live = environment.instance(object).await;
            let ready = live["status"]["conditions"].as_array().into_iter().flatten();
            let ready = ready.filter(|one| one["type"] == "Ready" && one["status"] == "True").count();
            assert_eq!(ready, 1, "{object} in {}: {}", environment.name(), live["status"]);
        }
        for other in ["dev", "staging", "production"].into_iter().filter(|other| *other != environment.name()) {
            assert!(environment.get(&format!("namespace/{other}"), "").await.is_none(), "{environment:?} has {other}");
        }
    }
}

const OPTIONS: &str = "argocd.argoproj.io/compare-options";

/// With server-side diff, Argo CD compares with the result of a dry run; without it, it compares git with the live object.
#[tokio::test]
async fn nothing_is_out_of_sync_in_either_way_of_comparing() {
    stage().await;
    let _turn = argocd::everything().await;
    for way in [Some("ServerSideDiff=true"), None] {
        let option = json!({ OPTIONS: way });
        argocd::patch_set(&json!({ "spec": { "template": { "metadata": { "annotations": option } } } })).await;
        wait_until("the Applications to be refreshed", SYNC_TIMEOUT, || async {
            let all = argocd::applications().await;
            let old = all.iter().find(|(_, app)| app["metadata"]["annotations"][OPTIONS] != option[OPTIONS]);
            old.map_or(Ok(()), |(name, _)| Err(format!("{name} is not")))
        })
        .await;
        argocd::compared(&APPLICATIONS).await;
        let mut compared = 0;
        for (name, app) in argocd::applications().await {
            assert_eq!(app["status"]["sync"]["status"], "Synced", "{name}: {}", argocd::not_ready(&app));
            for one in resources(&app) {
                assert_eq!(one["status"], "Synced", "{name}, {way:?}: {one}");
                compared += 1;
            }
        }
        println!("{way:?}: {compared} objects, 0 OutOfSync");
    }
}
