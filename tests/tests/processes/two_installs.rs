//! Two installs over the same objects (by OLM and by kustomize, say): one works, the other yields and says so, and takes over
//! when the first is removed, or at once by a flag.

use std::time::{Duration, Instant};

use api::my_app::MyApp;
use api::sample::Sample;
use e2e::call::{Call, lines};
use e2e::objects::ManagedKind;
use e2e::process::{Install, Launch, Manager};
use e2e::proxy::Proxy;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, none, settled, writes};

/// The manager checks an object of another install every 15 s, by an answer that is at most 15 s old.
const RELEASED: Duration = Duration::from_secs(40);
/// What a Lease lasts after its last renewal.
const LEASE: Duration = Duration::from_secs(15);
/// A Lease that is not renewed has to be observed for 17 s in addition.
const EXPIRED: Duration = Duration::from_secs(65);

struct Rivals {
    first: (Manager, Proxy),
    second: (Manager, Proxy),
    /// Of the second.
    install: Install,
}

impl Rivals {
    /// The first works; the second came later, and has reported that it yields.
    async fn start(stage: &Stage) -> Result<Self, Failure> {
        let (install, other) = (stage.install().await?, stage.another("other").await?);
        let mine = stage.proxy(&install).await?;
        let first = stage.leader(&install, &mine).await?;
        stage.sample("kept", "by the first").await?;
        stage.app("web").await?;
        stage.sample_kept("kept", "by the first", DEFAULT_TIMEOUT).await?;
        stage.app_ready("web", DEFAULT_TIMEOUT).await?;

        let install = Install::namespaced(&stage.client, &other.name, &[&stage.name]).await?;
        install.bind_cluster_role("metrics_auth_cluster_role.yaml").await?;
        let foreign = stage.proxy(&install).await?;
        let second = stage.leader(&install, &foreign).await?;
        for (reason, message) in [
            stage.condition::<Sample>("kept", "Conflict", DEFAULT_TIMEOUT).await?,
            stage.condition::<MyApp>("web", "Conflict", DEFAULT_TIMEOUT).await?,
        ] {
            let says = message.contains(&format!("{}/manager", stage.name)) && message.contains("--take-over");
            ensure(reason == "ManagedElsewhere" && says, || format!("{reason}: {message}"))?;
        }
        Ok(Self { first: (first, mine), second: (second, foreign), install })
    }

    /// While both run, the second has reported once per object, and the first continues.
    async fn live_side_by_side(&self, stage: &Stage) -> Result<(), Failure> {
        stage.sample("kept", "edited").await?;
        stage.sample_kept("kept", "edited", DEFAULT_TIMEOUT).await?;
        sleep(Duration::from_secs(3)).await;
        let said = writes(&self.second.1.journal());
        let others: Vec<Call> = said.iter().filter(|call| call.subresource != "status").cloned().collect();
        none(&others, "writes of the second to more than status")?;
        ensure(said.len() <= 2, || format!("one word an object was enough:\n{}", lines(&said)))?;
        let sample: Sample = stage.api().get("kept").await?;
        ensure(sample.is_ready(), || "what the first says is lost".to_owned())?;
        ensure(managed_by(&sample) == format!("{}/manager", stage.name), || managed_by(&sample))
    }

    /// The second has everything now, and says nothing of a conflict any more.
    async fn second_has_it(&self, stage: &Stage, limit: Duration) -> Result<(), Failure> {
        let holder = format!("{}/manager", self.install.namespace);
        let taken = |contract: Option<&api::Contract>| {
            let contract = contract?;
            (contract.managed_by.as_deref() == Some(&holder) && contract.condition("Conflict").is_none()).then_some(())
        };
        stage.until::<Sample, _>("kept", "the second's", limit, |seen| taken(seen?.contract())).await?;
        stage.until::<MyApp, _>("web", "the second's", limit, |seen| taken(seen?.contract())).await?;
        stage.sample("kept", "by the second").await?;
        stage.sample_kept("kept", "by the second", DEFAULT_TIMEOUT).await
    }
}

fn managed_by(sample: &Sample) -> String {
    sample.contract().and_then(|contract| contract.managed_by.clone()).unwrap_or_default()
}

pub async fn the_second_takes_over_when_the_first_is_stopped(stage: Stage) -> Result<(), Failure> {
    let mut rivals = Rivals::start(&stage).await?;
    rivals.live_side_by_side(&stage).await?;
    rivals.first.0.signal("TERM").await?;
    rivals.first.0.ends(Duration::from_secs(10)).await?;
    let ended = Instant::now();
    rivals.second_has_it(&stage, RELEASED).await?;
    println!("two installs: the first stopped: the second has everything after {:.1?}", ended.elapsed());
    Ok(())
}

pub async fn the_second_takes_over_when_the_first_is_killed(stage: Stage) -> Result<(), Failure> {
    let mut rivals = Rivals::start(&stage).await?;
    rivals.first.0.kill().await?;
    let (killed, before) = (Instant::now(), rivals.second.1.journal().len());
    rivals.second_has_it(&stage, EXPIRED).await?;
    // One reading never shows that an install is dead: nothing is taken over while the Lease may still be held.
    // Killed that early, it has only created its Lease.
    let renewal = |call: &Call| {
        call.is_lease() && matches!((call.verb.as_str(), call.code), ("update", Some(200)) | ("create", Some(201)))
    };
    let renewed = rivals.first.1.journal().into_iter().rfind(renewal).ok_or("the first has renewed nothing")?.at;
    let taken = writes(&rivals.second.1.since(before)).first().ok_or("the second has written nothing")?.at;
    let after = taken.saturating_duration_since(renewed);
    ensure(after >= LEASE, || format!("taken {after:?} after the last renewal of the first's Lease"))?;
    println!("two installs: the first killed: the second has everything after {:.1?}", killed.elapsed());
    Ok(())
}

pub async fn the_second_takes_over_at_once_by_flag(stage: Stage) -> Result<(), Failure> {
    let mut rivals = Rivals::start(&stage).await?;
    rivals.second.0.signal("TERM").await?;
    rivals.second.0.ends(Duration::from_secs(10)).await?;
    let before = rivals.first.1.journal().len();
    let again = stage.proxy(&rivals.install).await?;
    let mut second = Launch::default().through(&again).flag("--take-over").start(&rivals.install)?;
    second.leads(DEFAULT_TIMEOUT).await?;
    let led = Instant::now();
    rivals.second = (second, again);
    let holder = format!("{}/manager", rivals.install.namespace);
    stage
        .until::<MyApp, _>("web", "the second's", DEFAULT_TIMEOUT, |seen| {
            (seen?.contract()?.managed_by.as_deref() == Some(&holder)).then_some(())
        })
        .await?;
    println!("two installs: --take-over: taken {:.1?} after leading", led.elapsed());
    // Until then an edit is still the first's to see to.
    stage
        .until::<Sample, _>("kept", "the second's", DEFAULT_TIMEOUT, |seen| {
            (seen?.contract()?.managed_by.as_deref() == Some(&holder)).then_some(())
        })
        .await?;
    stage.sample("kept", "by the second").await?;
    stage.sample_kept("kept", "by the second", DEFAULT_TIMEOUT).await?;
    // The first still runs, and has to yield: each reports once, and then there are no more writes.
    sleep(Duration::from_secs(5)).await;
    settled(&rivals.first.1).await?;
    settled(&rivals.second.1).await?;
    let settled = (rivals.first.1.journal().len(), rivals.second.1.journal().len());
    sleep(Duration::from_secs(20)).await;
    none(&writes(&rivals.first.1.since(settled.0)), "writes of the first, in 20 s after it was displaced")?;
    none(&writes(&rivals.second.1.since(settled.1)), "writes of the second, in 20 s after it took over")?;
    let writes_of_first = writes(&rivals.first.1.since(before));
    ensure(writes_of_first.len() <= 4, || format!("the first did not let go:\n{}", lines(&writes_of_first)))
}
