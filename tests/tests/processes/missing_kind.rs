//! A kind that is not served when the manager starts (its CRD is missing): the others work, people can see what is
//! missing, and it is picked up once it is there.

use std::time::{Duration, Instant};

use e2e::proxy::{Fault, Rule};
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

pub async fn the_other_controllers_work_and_it_is_picked_up_when_served(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let missing = proxy.rule(Rule::new(|call| call.resource == "myapps", Fault::NotServed));
    let manager = stage.leader(&install, &proxy).await?;
    stage.app("web").await?;
    stage.sample("kept", "kept").await?;
    stage.sample_kept("kept", "kept", DEFAULT_TIMEOUT).await?;

    manager.ready(DEFAULT_TIMEOUT).await?;
    let (code, checks) = manager.health("/readyz?verbose").await?;
    let line = checks.lines().find(|line| line.contains("watch-myapps")).unwrap_or_default();
    ensure(code == 200 && line.starts_with("[-]watch-myapps failed: cannot watch myapps in namespace"), || {
        checks.clone()
    })?;
    ensure(checks.contains("[+]watch-samples ok"), || checks.clone())?;
    let errors = || manager.metric("multi_operator_watch_errors_total", &["kind=\"MyApp\""]);
    let first = errors().await?;
    eventually("the metric to grow", DEFAULT_TIMEOUT, || async {
        let now = errors().await.map_err(|error| error.to_string())?;
        if now > first && first > 0.0 { Ok(()) } else { Err(format!("{first}, then {now}")) }
    })
    .await?;
    let complaints = manager.log().matches("cannot watch myapps").count();
    ensure(complaints == 1, || format!("the same complaint {complaints} times: {}", manager.log()))?;

    sleep(Duration::from_secs(5)).await;
    missing.lift();
    let served = Instant::now();
    stage.app_ready("web", Duration::from_secs(20)).await?;
    println!("missing-kind: picked up {:.1?} after it was served", served.elapsed());
    let (_, checks) = manager.health("/readyz?verbose").await?;
    ensure(checks.contains("[+]watch-myapps ok"), || checks.clone())
}
