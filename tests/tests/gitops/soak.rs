//! Left alone, nothing leaves Synced and Healthy.

use std::time::Duration;

use e2e::argocd::{self, APPLICATIONS, Recorder, Seen};

use crate::stage::stage;

/// Unless `MULTI_OPERATOR_SOAK_SECONDS` says otherwise. Argo CD compares every 10 s here.
const SECONDS: u64 = 600;

#[tokio::test]
async fn staging_and_production_stay_synced_and_healthy() {
    // Before the stage: tests that change staging and production wait until this one has observed them for long enough.
    let _turn = argocd::read_only().await;
    stage().await;
    let given = std::env::var("MULTI_OPERATOR_SOAK_SECONDS").ok();
    let seconds = given.map_or(SECONDS, |given| given.parse().expect("MULTI_OPERATOR_SOAK_SECONDS is a number"));
    let watched = |name: &str| !name.starts_with("dev-");
    let names: Vec<&str> = APPLICATIONS.into_iter().filter(|name| watched(name)).collect();
    argocd::are_healthy(&names, None).await;
    let mut recorder = Recorder::start();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let seen: Vec<_> = recorder.seen().into_iter().filter(|seen| watched(&seen.name)).collect();
    for name in &names {
        assert!(seen.iter().any(|seen| seen.name == *name), "{name} was not seen: {seen:?}");
    }
    // On a slow machine, etcd elects another leader, and PostgreSQL does not answer a query of the manager: for these seconds a
    // resource correctly reports that it makes progress, and nothing worse.
    let waits = |seen: &Seen| {
        let why = ["QuorumUnconfirmed", r#""reason":"ServerSilent","status":"True","type":"Reconciling""#];
        seen.sync == "Synced" && seen.health == "Progressing" && why.iter().any(|why| seen.said.contains(why))
    };
    // Argo CD gives a health script a second of wall time.
    let judged_late = |seen: &Seen| {
        seen.sync == "Synced" && seen.health == "Unknown" && seen.said.contains("context deadline exceeded")
    };
    let left: Vec<_> = seen.iter().filter(|seen| !seen.is_healthy() && !waits(seen) && !judged_late(seen)).collect();
    assert!(left.is_empty(), "in {seconds} s, of {} states:\n{left:#?}", seen.len());
    // And Argo CD was at work: it has compared everything since.
    argocd::compared(&names).await;
    argocd::are_healthy(&names, None).await;
    println!(
        "{seconds} s, {} Applications, {} states seen, {} of them not Synced or not Healthy: those waited for the machine",
        names.len(),
        seen.len(),
        seen.iter().filter(|seen| !seen.is_healthy()).count(),
    );
}
