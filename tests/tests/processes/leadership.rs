//! Two managers, one Lease: who stops, dies or stands still is followed in time, and never do two write.

use std::time::{Duration, Instant};

use e2e::call::Call;
use e2e::process::{Install, Launch, Manager};
use e2e::proxy::{Fault, Proxy, Rule};
use futures::future::try_join_all;
use tokio::time::sleep;

use super::stage::{Failure, KINDS, SOON, Stage, ensure, none, writes};

/// What a Lease lasts after its last renewal.
const LEASE: Duration = Duration::from_secs(15);
/// How often it is renewed.
const RENEWAL: Duration = Duration::from_secs(2);

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
        standby.ready(SOON).await?;
        standby.logs("starting", SOON).await?;
        stage.sample("before", "one").await?;
        stage.sample_kept("before", "one", SOON).await?;
        // The Lease has to have been seen renewed, or it would be judged by an older record.
        sleep(RENEWAL).await;
        let pair = Self { leader: (leader, first), standby: (standby, second) };
        let calls = pair.standby.1.journal();
        none(&writes(&calls), "writes of a standby")?;
        none(&lease_writes(&calls), "writes of a standby to the Lease")?;
        ensure(lists(&calls) >= KINDS, || format!("the standby's caches are cold: {} lists", lists(&calls)))?;
        Ok(pair)
    }

    /// Waits until the standby has written; says when.
    async fn standby_wrote(&self, limit: Duration) -> Result<Instant, Failure> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(first) = writes(&self.standby.1.journal()).first() {
                return Ok(first.at);
            }
            ensure(Instant::now() < deadline, || {
                format!("the standby wrote nothing within {limit:?}: {}", self.standby.0.log())
            })?;
            sleep(Duration::from_millis(20)).await;
        }
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
    let told = Instant::now();
    pair.leader.0.signal("TERM").await?;
    let (status, took) = pair.leader.0.ends(Duration::from_secs(10)).await?;
    let ended = told + took;
    stage.sample("after", "two").await?;
    ensure(status.success(), || format!("{status}: {}", pair.leader.0.log()))?;
    let wrote = pair.standby_wrote(Duration::from_secs(10)).await?;
    let waited = wrote.saturating_duration_since(ended);
    println!("leadership: SIGTERM: exit after {took:.2?}, the next leader's first write {waited:.2?} later");
    ensure(waited <= Duration::from_secs(2), || format!("the first write came {waited:?} after the drain"))?;
    stage.sample_kept("after", "two", SOON).await?;
    pair.was_warm(lists_before)?;
    let late: Vec<Call> = writes(&pair.leader.1.journal()).into_iter().filter(|call| call.at > wrote).collect();
    none(&late, "writes of the old leader after the new one's first")
}

pub async fn a_killed_leader_is_followed_when_its_lease_ends(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut pair = Pair::start(&stage, &install).await?;
    let lists_before = lists(&pair.standby.1.journal());
    pair.leader.0.kill().await?;
    let killed = Instant::now();
    stage.sample("after", "two").await?;
    let wrote = pair.standby_wrote(LEASE + Duration::from_secs(10)).await?;
    let waited = wrote.saturating_duration_since(killed);
    println!("leadership: kill -9: the next leader's first write after {waited:.2?}");
    ensure(waited <= LEASE + Duration::from_secs(2), || format!("the next leader wrote after {waited:?}"))?;
    let claimed = lease_writes(&pair.standby.1.journal()).first().map(|call| call.at - killed);
    let too_early = LEASE - RENEWAL - Duration::from_secs(1);
    ensure(claimed.is_some_and(|claimed| claimed >= too_early), || format!("the Lease was claimed after {claimed:?}"))?;
    stage.sample_kept("after", "two", SOON).await?;
    pair.was_warm(lists_before)
}

pub async fn a_stilled_leader_leaves_without_writing(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut pair = Pair::start(&stage, &install).await?;
    pair.leader.0.signal("STOP").await?;
    let stilled = Instant::now();
    // Events of these wait in the old leader's sockets, and it does not know that they have been seen to.
    let names: Vec<String> = (0..30).map(|number| format!("meanwhile-{number}")).collect();
    try_join_all(names.iter().map(|name| stage.sample(name, "meanwhile"))).await?;
    stage.sample("before", "edited").await?;
    let wrote = pair.standby_wrote(LEASE + Duration::from_secs(10)).await?;
    let waited = wrote.saturating_duration_since(stilled);
    ensure(waited <= LEASE + Duration::from_secs(2), || format!("the next leader wrote after {waited:?}"))?;
    stage.sample_kept("before", "edited", SOON).await?;
    sleep(Duration::from_secs(20).saturating_sub(stilled.elapsed())).await;
    // Something to do at the very moment of waking.
    stage.sample("last", "at the end").await?;
    let before = pair.leader.1.journal().len();
    pair.leader.0.signal("CONT").await?;
    let (status, took) = pair.leader.0.ends(Duration::from_secs(10)).await?;
    println!("leadership: SIGSTOP: the next leader's first write after {waited:.2?}; exit {took:.2?} after SIGCONT");
    ensure(!status.success(), || "a leader that has lost its Lease ended as if all were well".to_owned())?;
    ensure(pair.leader.0.log().contains("lost the lease"), || pair.leader.0.log())?;
    let since = pair.leader.1.since(before);
    none(&writes(&since), "writes of the old leader after it woke")?;
    let renewed: Vec<Call> = lease_writes(&since).into_iter().filter(|call| call.code == Some(200)).collect();
    none(&renewed, "renewals of a Lease that another holds")?;
    stage.sample_kept("last", "at the end", SOON).await
}

pub async fn a_manager_ends_within_10_s_although_answers_do_not_come(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let held = proxy.rule(Rule::new(Call::is_write, Fault::Hold));
    let mut manager = stage.leader(&install, &proxy).await?;
    for name in ["a", "b", "c"] {
        stage.sample(name, "held").await?;
    }
    held.reaches(3, SOON).await?;
    manager.signal("TERM").await?;
    let (status, took) = manager.ends(Duration::from_secs(10)).await?;
    println!("leadership: SIGTERM with three passes held: exit after {took:.2?}");
    ensure(status.success(), || format!("{status}: {}", manager.log()))?;
    ensure(manager.log().contains("lease released"), || format!("the Lease was kept: {}", manager.log()))
}
