//! Outages of the API server that last longer than a Lease. When it is back, so is the manager, within seconds and by few requests.

use std::time::{Duration, Instant};

use e2e::call::Call;
use e2e::patience::{Bar, Moment};
use e2e::proxy::{Away, Fault, Proxy, Rule};
use e2e::timing::Timing;
use futures::future::try_join_all;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, within};

/// From the API server's return until the manager acts on a change that was made meanwhile: the time of a probe with what follows
/// it, and the work.
const BACK: Bar = Bar { timers: Duration::from_secs(3), work: Duration::from_secs(2) };
/// How many requests the first second after the return may see.
const AT_ONCE: usize = 50;
/// How many objects there are, none of which has changed.
const OBJECTS: usize = 60;
/// And in the long outages.
const MANY: usize = 1000;

pub async fn that_closes_connections(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(60), closed).await
}

pub async fn that_says_nothing(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(40), silent).await
}

pub async fn behind_a_load_balancer(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(20), without_backends).await
}

/// Over before any probe: the connections are lost all the same.
pub async fn of_4_s_that_says_nothing(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(4), silent).await
}

/// Shorter than a Lease's duration: no other manager may lead meanwhile.
pub async fn of_10_s_however(stage: Stage) -> Result<(), Failure> {
    for (how, away) in [
        ("closed", closed as fn(&Proxy) -> Back<'_>),
        ("refused", refused),
        ("reset", reset),
        ("silent", silent),
        ("503", without_backends),
    ] {
        let stage = stage.another(how).await?;
        survived(stage, OBJECTS, Duration::from_secs(10), away).await.map_err(|error| format!("{how}: {error}"))?;
    }
    Ok(())
}

pub async fn that_refuses_connections_for_60_s(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(60), refused).await
}

pub async fn that_resets_connections_for_60_s(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(60), reset).await
}

pub async fn that_answers_after_15_s_for_60_s(stage: Stage) -> Result<(), Failure> {
    survived(stage, OBJECTS, Duration::from_secs(60), slow).await
}

pub async fn that_closes_connections_for_330_s(stage: Stage) -> Result<(), Failure> {
    survived(stage, MANY, Duration::from_secs(330), closed).await
}

pub async fn that_says_nothing_for_330_s(stage: Stage) -> Result<(), Failure> {
    survived(stage, MANY, Duration::from_secs(330), silent).await
}

pub async fn behind_a_load_balancer_for_330_s(stage: Stage) -> Result<(), Failure> {
    survived(stage, MANY, Duration::from_secs(330), without_backends).await
}

pub async fn that_closes_connections_for_30_minutes(stage: Stage) -> Result<(), Failure> {
    survived(stage, MANY, Duration::from_secs(1800), closed).await
}

pub async fn that_says_nothing_for_30_minutes(stage: Stage) -> Result<(), Failure> {
    survived(stage, MANY, Duration::from_secs(1800), silent).await
}

/// What ends an outage.
type Back<'p> = Box<dyn FnOnce() + Send + 'p>;

fn closed(proxy: &Proxy) -> Back<'_> {
    away(proxy, Away::Closed)
}

fn refused(proxy: &Proxy) -> Back<'_> {
    away(proxy, Away::Refused)
}

fn reset(proxy: &Proxy) -> Back<'_> {
    away(proxy, Away::Reset)
}

fn silent(proxy: &Proxy) -> Back<'_> {
    away(proxy, Away::Silent)
}

fn away(proxy: &Proxy, how: Away) -> Back<'_> {
    proxy.away(how);
    Box::new(|| proxy.back())
}

fn without_backends(proxy: &Proxy) -> Back<'_> {
    spoiled(proxy, Fault::Answer(503))
}

/// Each answer takes longer than a Lease's renewal may.
fn slow(proxy: &Proxy) -> Back<'_> {
    spoiled(proxy, Fault::Late(Duration::from_secs(15)))
}

/// The fault that each request gets, with watches cut off at its beginning.
fn spoiled(proxy: &Proxy, fault: Fault) -> Back<'_> {
    let rule = proxy.rule(Rule::new(|_: &Call| true, fault));
    proxy.cut_watches();
    Box::new(move || rule.lift())
}

/// The same process acts again, on what was changed meanwhile, and on nothing else.
async fn survived(stage: Stage, objects: usize, lasts: Duration, away: fn(&Proxy) -> Back<'_>) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let mut manager = stage.leader(&install, &proxy).await?;
    let names: Vec<String> = (0..objects).map(|number| format!("unchanged-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.sample(name, "as before"))).await?;
    stage.sample("edited", "before").await?;
    try_join_all(names.iter().map(|name| stage.sample_kept(name, "as before", DEFAULT_TIMEOUT * 10))).await?;
    stage.sample_kept("edited", "before", DEFAULT_TIMEOUT).await?;

    let (back, left) = (away(&proxy), Instant::now());
    sleep(lasts).await;
    stage.sample("edited", "after").await?;
    let timing = Timing::exclusive().await;
    let before = proxy.journal().len();
    let (begun, returned) = (Moment::now(), Instant::now());
    // Longer than intended, if other tests measured first.
    let lasted = returned.duration_since(left);
    back();
    stage.sample_kept("edited", "after", Duration::from_secs(60)).await?;
    let took = returned.elapsed();
    drop(timing);
    sleep(Duration::from_secs(2).saturating_sub(returned.elapsed())).await;
    let since = proxy.since(before);
    let at_once = since.iter().filter(|call| call.at.saturating_duration_since(returned) < Duration::from_secs(1));
    let (at_once, lists) = (at_once.count(), since.iter().filter(|call| call.verb == "list").count());
    println!(
        "away for {lasted:.0?}: a change acted on {took:.2?} after the return; {at_once} requests in the first second, {lists} lists"
    );
    within(BACK, "from the return to a change being acted on", took, begun)?;
    ensure(at_once <= AT_ONCE, || format!("{at_once} requests in the first second: {since:?}"))?;
    let about = |call: &&Call| call.is_write() && call.name.contains("unchanged");
    ensure(!since.iter().any(|call| about(&call)), || format!("writes to what had not changed: {since:?}"))?;
    ensure(manager.ends(Duration::from_millis(1)).await.is_err(), || format!("it ended: {}", manager.log()))?;
    // A Lease lasts longer than the shortest.
    let worked_on = lasted < Duration::from_secs(12) || manager.log().contains("no other manager has led: resuming");
    ensure(worked_on, || manager.log())
}
