//! Two managers, one Lease: a leader that stops, dies or freezes is replaced in time, and two never write.

use std::time::{Duration, Instant};

use e2e::call::Call;
use e2e::patience::{Bar, Deadline, Moment};
use e2e::process::{Install, Launch, Manager};
use e2e::proxy::{Away, Fault, Proxy, Rule};
use e2e::timing::Timing;
use futures::future::try_join_all;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, KINDS, Stage, ensure, eventually, none, within, writes};

/// What a Lease lasts after its last renewal.
const LEASE: Duration = Duration::from_secs(15);
/// From the end of a leader that was stopped to the next leader's first write.
const FOLLOWED: Bar = Bar::work(Duration::from_secs(2));
/// From the death of a leader to the next leader's first write.
const EXPIRED: Bar = Bar { timers: LEASE, work: Duration::from_secs(2) };

/// From the end of a silence of 4 s until a standby's watches have begun again: the standby reads the Lease when it has heard
/// nothing of it for 5 s, that read may be lost, too, which takes 2.5 s, and the watches follow within a second.
const HEARD: Bar = Bar { timers: Duration::from_secs(5), work: Duration::from_secs(2) };

/// A leader and a standby, each behind a proxy of its own.
struct Pair {
    leader: (Manager, Proxy),
    standby: (Manager, Proxy),
}

impl Pair {
    async fn start(stage: &Stage, install: &Install) -> Result<Self, Failure> {
        let (first, second) = (stage.proxy(install).await?, stage.proxy(install).await?);
        let leader = stage.leader(install, &first).await?;
        let mut standby = Launch::default().through(&second).start(install)?;
        standby.ready(DEFAULT_TIMEOUT).await?;
        standby.logs("starting", DEFAULT_TIMEOUT).await?;
        stage.sample("before", "one").await?;
        stage.sample_kept("before", "one", DEFAULT_TIMEOUT).await?;
        let pair = Self { leader: (leader, first), standby: (standby, second) };
        // The Lease has to have been seen renewed, or it would be judged by an older record.
        let before = lease_writes(&pair.leader.1.journal()).len();
        eventually("a standby that has seen all, and the Lease renewed", DEFAULT_TIMEOUT, || async {
            let (renewed, lists) = (lease_writes(&pair.leader.1.journal()).len(), lists(&pair.standby.1.journal()));
            let warm = renewed >= before + 2 && lists >= KINDS;
            if warm { Ok(()) } else { Err(format!("{} renewals, {lists} lists", renewed - before)) }
        })
        .await?;
        let calls = pair.standby.1.journal();
        none(&writes(&calls), "writes of a standby")?;
        none(&lease_writes(&calls), "writes of a standby to the Lease")?;
        Ok(pair)
    }

    /// Waits until the standby has written; says when.
    async fn standby_wrote(&self, limit: Duration) -> Result<Instant, Failure> {
        let deadline = Deadline::after(limit);
        loop {
            if let Some(first) = writes(&self.standby.1.journal()).first() {
                return Ok(first.at);
            }
            ensure(!deadline.is_over(), || {
                format!("the standby wrote nothing: {}: {}", deadline.late(), self.standby.0.log())
            })?;
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The standby has not claimed the Lease before it had ended, as the proxies saw it: after the last renewal, however late
    /// that came.
    fn claimed_in_time(&self) -> Result<(), Failure> {
        let renewed = lease_writes(&self.leader.1.journal()).into_iter().rfind(|call| call.code == Some(200));
        let claimed = lease_writes(&self.standby.1.journal()).into_iter().next();
        let (renewed, claimed) = (renewed.ok_or("never renewed")?.at, claimed.ok_or("never claimed")?.at);
        let after = claimed.saturating_duration_since(renewed);
        ensure(after >= LEASE, || format!("the Lease was claimed {after:?} after its last renewal"))
    }

    /// The standby has taken over without filling its caches again.
    fn was_warm(&self, lists_before: usize) -> Result<(), Failure> {
        let now = lists(&self.standby.1.journal());
        ensure(now == lists_before, || format!("{} lists at the take-over", now - lists_before))
    }
}

fn lease_writes(calls: &[Call]) -> Vec<Call> {
    let writes = |call: &&Call| call.is_lease() && matches!(call.verb.as_str(), "create" | "update" | "patch");
    calls.iter().filter(writes).cloned().collect()
}

fn lists(calls: &[Call]) -> usize {
    calls.iter().filter(|call| call.verb == "list").count()
}

pub async fn a_stopped_leader_is_followed_within_2_s(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut pair = Pair::start(&stage, &install).await?;
    let lists_before = lists(&pair.standby.1.journal());
    let (timing, begun) = (Timing::exclusive().await, Moment::now());
    pair.leader.0.signal("TERM").await?;
    let reported = Instant::now();
    let (status, took) = pair.leader.0.ends(Duration::from_secs(10)).await?;
    let ended = reported + took;
    stage.sample("after", "two").await?;
    ensure(status.success(), || format!("{status}: {}", pair.leader.0.log()))?;
    let wrote = pair.standby_wrote(Duration::from_secs(10)).await?;
    let waited = wrote.saturating_duration_since(ended);
    drop(timing);
    println!("leadership: SIGTERM: exit after {took:.2?}, the next leader's first write {waited:.2?} later");
    within(FOLLOWED, "from the leader's end to the next leader's first write", waited, begun)?;
    stage.sample_kept("after", "two", DEFAULT_TIMEOUT).await?;
    pair.was_warm(lists_before)?;
    let late: Vec<Call> = writes(&pair.leader.1.journal()).into_iter().filter(|call| call.at > wrote).collect();
    none(&late, "writes of the old leader after the new one's first")
}

/// Who takes over next knows what has happened, though no request of its own has failed.
pub async fn a_standby_watches_again_after_a_silence_of_4_s(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut pair = Pair::start(&stage, &install).await?;
    let (standby, proxy) = &mut pair.standby;
    let timing = Timing::exclusive().await;
    proxy.away(Away::Silent);
    sleep(Duration::from_secs(4)).await;
    let before = proxy.journal().len();
    let (begun, returned) = (Moment::now(), Instant::now());
    proxy.back();
    let watches = || proxy.since(before).into_iter().filter(|call| call.is_watch() && !call.is_lease()).count();
    eventually("watches that have begun again", DEFAULT_TIMEOUT, || async {
        let watches = watches();
        if watches >= KINDS { Ok(()) } else { Err(format!("{watches} of {KINDS}")) }
    })
    .await?;
    let took = returned.elapsed();
    drop(timing);
    println!("leadership: a standby's watches have begun again {took:.2?} after a silence of 4 s");
    within(HEARD, "from the end of the silence to a standby's watches", took, begun)?;
    let since = proxy.since(before);
    ensure(lists(&since) == 0, || format!("lists: {since:?}"))?;
    none(&writes(&since), "writes of a standby")?;
    ensure(standby.ends(Duration::from_millis(1)).await.is_err(), || format!("it ended: {}", standby.log()))
}

pub async fn a_killed_leader_is_followed_when_its_lease_ends(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut pair = Pair::start(&stage, &install).await?;
    let lists_before = lists(&pair.standby.1.journal());
    let (timing, begun) = (Timing::exclusive().await, Moment::now());
    pair.leader.0.kill().await?;
    let killed = Instant::now();
    stage.sample("after", "two").await?;
    let wrote = pair.standby_wrote(LEASE + Duration::from_secs(10)).await?;
    let waited = wrote.saturating_duration_since(killed);
    drop(timing);
    println!("leadership: kill -9: the next leader's first write after {waited:.2?}");
    within(EXPIRED, "from the leader's death to the next leader's first write", waited, begun)?;
    pair.claimed_in_time()?;
    stage.sample_kept("after", "two", DEFAULT_TIMEOUT).await?;
    pair.was_warm(lists_before)
}

pub async fn a_stilled_leader_leaves_without_writing(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut pair = Pair::start(&stage, &install).await?;
    let (timing, begun) = (Timing::exclusive().await, Moment::now());
    pair.leader.0.signal("STOP").await?;
    let stilled = Instant::now();
    // Events of these wait in the old leader's sockets, and it does not know that they have been seen to.
    let names: Vec<String> = (0..30).map(|number| format!("meanwhile-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.sample(name, "meanwhile"))).await?;
    stage.sample("before", "edited").await?;
    let wrote = pair.standby_wrote(LEASE + Duration::from_secs(10)).await?;
    let waited = wrote.saturating_duration_since(stilled);
    drop(timing);
    within(EXPIRED, "from the leader's standstill to the next leader's first write", waited, begun)?;
    pair.claimed_in_time()?;
    stage.sample_kept("before", "edited", DEFAULT_TIMEOUT).await?;
    sleep(Duration::from_secs(20).saturating_sub(stilled.elapsed())).await;
    // Something to do at the very moment of waking.
    stage.sample("last", "at the end").await?;
    let before = pair.leader.1.journal().len();
    pair.leader.0.signal("CONT").await?;
    let (status, took) = pair.leader.0.ends(Duration::from_secs(10)).await?;
    println!("leadership: SIGSTOP: the next leader's first write after {waited:.2?}; exit {took:.2?} after SIGCONT");
    ensure(!status.success(), || "a leader that has lost its Lease ended with success".to_owned())?;
    ensure(pair.leader.0.log().contains("lost the lease"), || pair.leader.0.log())?;
    let since = pair.leader.1.since(before);
    none(&writes(&since), "writes of the old leader after it woke")?;
    let renewed: Vec<Call> = lease_writes(&since).into_iter().filter(|call| call.code == Some(200)).collect();
    none(&renewed, "renewals of a Lease that another holds")?;
    stage.sample_kept("last", "at the end", DEFAULT_TIMEOUT).await
}

pub async fn a_manager_ends_within_10_s_although_answers_do_not_come(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let held = proxy.rule(Rule::new(Call::is_write, Fault::Hold));
    let mut manager = stage.leader(&install, &proxy).await?;
    for name in ["a", "b", "c"] {
        stage.sample(name, "held").await?;
    }
    held.reaches(3, DEFAULT_TIMEOUT).await?;
    let timing = Timing::exclusive().await;
    manager.signal("TERM").await?;
    let (status, took) = manager.ends(Duration::from_secs(10)).await?;
    drop(timing);
    println!("leadership: SIGTERM during three reconciles: exit after {took:.2?}");
    ensure(status.success(), || format!("{status}: {}", manager.log()))?;
    ensure(manager.log().contains("lease released"), || format!("the Lease was kept: {}", manager.log()))
}
