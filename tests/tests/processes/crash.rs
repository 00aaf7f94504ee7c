//! Crash points: a manager is killed right after each of its writes, before it gets the answer, and the next one finishes the
//! work, whatever it finds.

use std::time::Duration;

use api::my_app::MyApp;
use e2e::call::{Call, lines};
use e2e::process::Launch;
use e2e::proxy::{Fault, Rule};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use serde_json::json;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually, writes};

/// The writes of a MyApp with a Service and a disruption budget: three children and the first status.
const WRITES: usize = 4;

pub async fn a_manager_killed_after_any_write_leaves_nothing_that_the_next_cannot_finish(
    stage: Stage,
) -> Result<(), Failure> {
    let install = stage.install().await?;
    // No other manager runs, and 15 s for each crash would be wasted.
    let launch = Launch::default().env("NO_LEADER_ELECTION", "true");
    for survived in 0..WRITES {
        let name = format!("web-{survived}");
        let (doomed, next) = (stage.proxy(&install).await?, stage.proxy(&install).await?);
        let of_it = {
            let name = name.clone();
            move |call: &Call| call.is_write() && call.name == name
        };
        let last = doomed.rule(Rule::new(of_it, Fault::AppliedThenHold).skip(survived));
        let mut manager = launch.clone().through(&doomed).start(&install)?;
        stage.app(&name).await?;
        last.reaches(1, DEFAULT_TIMEOUT).await?;
        manager.kill().await?;
        let arrived = writes(&doomed.journal()).len();
        ensure(arrived == survived + 1, || format!("killed after write {arrived}, not {}", survived + 1))?;
        let _manager = launch.clone().through(&next).start(&install)?;
        stage.app_ready(&name, DEFAULT_TIMEOUT).await?;
        sleep(Duration::from_secs(1)).await;
        let finishing = writes(&next.journal());
        // It may repeat what it cannot have seen, and nothing more. Its Deployment gets its first status meanwhile.
        let bound = WRITES + 2 - survived;
        ensure(finishing.len() <= bound, || format!("after {} writes, these:\n{}", survived + 1, lines(&finishing)))?;
    }
    // The cluster creates the ReplicaSets, in its own time; a second one would mean a second template.
    eventually("one child of each kind for each MyApp", DEFAULT_TIMEOUT, || async {
        let (replica_sets, of_any) = (stage.api::<ReplicaSet>(), ListParams::default());
        let replica_sets = replica_sets.list(&of_any).await.map_err(|error| error.to_string())?.items.len();
        let counts = [
            stage.children::<Deployment>().await.map_err(|error| error.to_string())?,
            stage.children::<Service>().await.map_err(|error| error.to_string())?,
            stage.children::<PodDisruptionBudget>().await.map_err(|error| error.to_string())?,
            replica_sets,
        ];
        let reported = format!("Deployments, Services, budgets, ReplicaSets: {counts:?}");
        if counts == [WRITES; 4] { Ok(()) } else { Err(reported) }
    })
    .await?;

    // The reverse: children that the spec does not need any more are deleted, and that survives a crash too.
    let doomed = stage.proxy(&install).await?;
    let deletion = doomed.rule(Rule::new(|call| call.verb == "delete", Fault::AppliedThenHold));
    let mut manager = launch.clone().through(&doomed).start(&install)?;
    stage.merge::<MyApp>("web-0", json!({ "spec": { "port": null, "disruptionBudget": null } })).await?;
    deletion.reaches(1, DEFAULT_TIMEOUT).await?;
    manager.kill().await?;
    let _manager = launch.start(&install)?;
    stage.until::<Service, _>("web-0", "deleted", DEFAULT_TIMEOUT, |seen| seen.is_none().then_some(())).await?;
    stage
        .until::<PodDisruptionBudget, _>("web-0", "deleted", DEFAULT_TIMEOUT, |seen| seen.is_none().then_some(()))
        .await?;
    stage.app_ready("web-0", DEFAULT_TIMEOUT).await
}
