//! From nothing: every environment gets Synced and Healthy, one after the other, and stays so however it is compared.

use e2e::argocd::{self, APPLICATIONS, Environment, application, resources, text};
use serde_json::json;

use crate::stage::stage;

/// Also says how long a step took, beside the order.
#[tokio::test]
async fn environments_follow_one_another_and_end_synced_and_healthy() {
    let stage = stage().await;
    assert!(
        stage.fresh,
        "the ApplicationSet was there before: this test needs clusters that are new (scripts/cluster down, up)"
    );
    for pair in APPLICATIONS.windows(2) {
        let well = stage.seen.iter().position(|seen| seen.name == pair[0] && seen.is_well());
        let begun = stage.seen.iter().position(|seen| seen.name == pair[1] && !seen.phase.is_empty());
        let (well, begun) = (well.expect("it got well"), begun.expect("it was synced"));
        assert!(well < begun, "{} was synced before {} was well:\n{:#?}", pair[1], pair[0], stage.seen);
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
    let _turn = argocd::only_look().await;
    for environment in [Environment::Dev, Environment::Staging, Environment::Production] {
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

/// Server-side, what the API server would make of an apply is compared; else, what git says with what is there.
#[tokio::test]
async fn nothing_is_out_of_sync_in_either_way_of_comparing() {
    stage().await;
    let _turn = argocd::everything().await;
    for server_side in [false, true] {
        let way = json!({ "argocd.argoproj.io/compare-options": format!("ServerSideDiff={server_side}") });
        argocd::patch_set(&json!({ "spec": { "template": { "metadata": { "annotations": way } } } })).await;
        for name in APPLICATIONS {
            e2e::wait::wait_until("the Applications to be told", argocd::PATIENCE, || async {
                let told = application(name).await["metadata"]["annotations"].clone();
                let told = &told["argocd.argoproj.io/compare-options"];
                if *told == way["argocd.argoproj.io/compare-options"] { Ok(()) } else { Err(told.to_string()) }
            })
            .await;
        }
        argocd::compared(&APPLICATIONS).await;
        let mut compared = 0;
        for (name, app) in argocd::applications().await {
            assert_eq!(app["status"]["sync"]["status"], "Synced", "{name}: {}", argocd::trouble(&app));
            for one in resources(&app) {
                assert_eq!(one["status"], "Synced", "{name}, ServerSideDiff={server_side}: {one}");
                compared += 1;
            }
        }
        println!("ServerSideDiff={server_side}: {compared} objects, 0 OutOfSync");
    }
}
