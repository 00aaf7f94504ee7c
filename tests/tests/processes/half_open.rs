//! Connections that the network has forgotten: they stay open and carry nothing, without an error.

use std::time::Duration;

use e2e::patience::{Bar, Deadline, Moment};
use e2e::process::Launch;
use e2e::timing::Timing;

use super::stage::{DEFAULT_TIMEOUT, Failure, KINDS, Stage, ensure, eventually, within};

/// In normal time, as every limit.
const BAR: Duration = Duration::from_secs(60);
/// In which a manager ends whose Lease cannot be renewed: the renewal's deadline, and what comes after it.
const ENDED: Bar = Bar { timers: Duration::from_secs(10), work: Duration::from_secs(3) };

pub async fn a_change_behind_half_open_watches_is_acted_on_within_60_s(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let mut manager = stage.leader(&install, &proxy).await?;
    stage.sample("edited", "before").await?;
    stage.sample_kept("edited", "before", DEFAULT_TIMEOUT).await?;
    let timing = Timing::exclusive().await;
    // A manager works as soon as what it needs for that has been listed; on a busy machine the last watch follows later.
    eventually("a watch a kind", DEFAULT_TIMEOUT, || async {
        let open = proxy.watches();
        if open >= KINDS { Ok(()) } else { Err(format!("{open} of {KINDS} connections carry one")) }
    })
    .await?;
    let hung = proxy.hang(true);
    ensure(hung >= KINDS, || format!("only {hung} connections carried a watch"))?;
    let (begun, deadline) = (Moment::now(), Deadline::after(BAR));
    stage.sample("edited", "after").await?;
    stage.sample("new", "new").await?;
    stage.sample_kept("edited", "after", BAR).await?;
    stage.sample_kept("new", "new", deadline.left()).await?;
    drop(timing);
    println!("half-open: {hung} watches hung; changes acted on after {}", begun.passed());
    ensure(manager.ends(Duration::from_millis(1)).await.is_err(), || format!("it ended: {}", manager.log()))?;
    ensure(!manager.log().contains("lost the lease"), || manager.log())
}

pub async fn when_every_connection_hangs_the_work_goes_on_within_60_s(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let mut manager = stage.leader(&install, &proxy).await?;
    stage.sample("edited", "before").await?;
    stage.sample_kept("edited", "before", DEFAULT_TIMEOUT).await?;
    let timing = Timing::exclusive().await;
    let hung = proxy.hang(false);
    let (begun, deadline) = (Moment::now(), Deadline::after(BAR));
    stage.sample("edited", "after").await?;
    // It may lose its Lease over it; then it ends, and the kubelet, here the test, starts it again.
    let lost = manager.ends(Duration::from_secs(15)).await;
    let restarted = match lost {
        Ok((status, took)) => {
            ensure(!status.success(), || "it ended with success".to_owned())?;
            within(ENDED, "from the Lease's loss to the manager's end", took, begun)?;
            Some(Launch::default().through(&proxy).start(&install)?)
        }
        Err(_) => None,
    };
    stage.sample_kept("edited", "after", deadline.left()).await?;
    drop(timing);
    let how = if restarted.is_some() { "by a process started again" } else { "by the same process" };
    println!("half-open: all {hung} connections hung; a change acted on after {}, {how}", begun.passed());
    Ok(())
}
