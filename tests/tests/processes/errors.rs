//! Errors of the API server: transient ones are survived, permanent ones are reported and cost little.

use std::time::{Duration, Instant};

use api::my_app::MyApp;
use e2e::call::{Call, lines};
use e2e::proxy::{Fault, Rule};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure};

/// Requests a minute for one object that cannot be helped.
const BAR: usize = 20;

fn of_objects(calls: &[Call]) -> Vec<Call> {
    let owned = |call: &&Call| !call.is_lease() && !call.is_watch() && call.verb != "list" && call.resource != "events";
    calls.iter().filter(owned).cloned().collect()
}

pub async fn passing_errors_are_got_over_in_few_requests(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    let faults = [
        ("500", Fault::Answer(500)),
        ("503", Fault::Answer(503)),
        ("429", Fault::Answer(429)),
        ("504-applied", Fault::AppliedThen(504)),
        ("500-applied", Fault::AppliedThen(500)),
    ];
    let mut count = 0;
    for (what, fault) in faults {
        let begun = (proxy.journal().len(), Instant::now());
        let rule = proxy.rule(Rule::new(Call::is_write, fault).times(5));
        let name = format!("web-{what}");
        stage.app(&name).await?;
        stage.sample(&name, what).await?;
        rule.reaches(5, DEFAULT_TIMEOUT).await?;
        stage.app_ready(&name, Duration::from_secs(30)).await?;
        stage.sample_kept(&name, what, Duration::from_secs(30)).await?;
        sleep(Duration::from_secs(1)).await;
        rule.lift();
        count += 1;
        let calls = of_objects(&proxy.since(begun.0));
        println!("errors: {what} five times: {} requests for two objects in {:.1?}", calls.len(), begun.1.elapsed());
        // 6 without errors: a write for each of four children, two statuses. A failed reconcile is repeated, and the manager
        // reads what it created before the error, and applies it.
        ensure(calls.len() <= 40, || format!("{what}: {} requests:\n{}", calls.len(), lines(&calls)))?;
    }
    let counts = [
        stage.children::<Deployment>().await?,
        stage.children::<Service>().await?,
        stage.children::<PodDisruptionBudget>().await?,
        stage.children::<ConfigMap>().await?,
    ];
    ensure(counts == [count; 4], || {
        format!("Deployments, Services, budgets, ConfigMaps for {count} objects: {counts:?}")
    })
}

pub async fn a_refused_child_costs_few_requests(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let refused = |call: &Call| call.is_write() && call.resource == "services";
    // What is forbidden may be granted, so it is tried again with growing delays; what is invalid waits for an edit.
    let forbidden = proxy.rule(Rule::new(move |call| refused(call) && call.name == "forbidden", Fault::Answer(403)));
    let invalid = proxy.rule(Rule::new(move |call| refused(call) && call.name == "invalid", Fault::Answer(422)));
    let _manager = stage.leader(&install, &proxy).await?;
    stage.app("forbidden").await?;
    stage.app("invalid").await?;
    stage.app("fine").await?;
    stage.app_ready("fine", DEFAULT_TIMEOUT).await?;
    for (name, expected) in [("forbidden", "Forbidden"), ("invalid", "Rejected")] {
        let (reason, message) = stage.condition::<MyApp>(name, "Stalled", DEFAULT_TIMEOUT).await?;
        let reported = reason == expected && message.contains("by the test's proxy");
        ensure(reported, || format!("{name} says {reason}: {message}"))?;
    }
    let all = |name: &str, from: usize| -> Vec<Call> {
        of_objects(&proxy.since(from)).into_iter().filter(|call| call.name == name).collect()
    };
    // The delays double up to a minute; the last ones within this test are about 25 s and 50 s.
    sleep(Duration::from_secs(40)).await;
    let (begun, early) = (proxy.journal().len(), [all("forbidden", 0).len(), all("invalid", 0).len()]);
    sleep(Duration::from_secs(60)).await;
    let late = [all("forbidden", begun), all("invalid", begun)];
    println!(
        "errors: refused for good: {early:?} requests (403, 422) in 40 s, then {} and {} a minute",
        late[0].len(),
        late[1].len()
    );
    for calls in &late {
        ensure(calls.len() <= BAR, || format!("{} requests a minute:\n{}", calls.len(), lines(calls)))?;
    }
    forbidden.lift();
    invalid.lift();
    // An edit ends all waiting.
    let spec = serde_json::json!({ "spec": { "port": 81 } });
    for name in ["forbidden", "invalid"] {
        stage.merge::<MyApp>(name, spec.clone()).await?;
        stage.app_ready(name, DEFAULT_TIMEOUT).await?;
    }
    Ok(())
}
