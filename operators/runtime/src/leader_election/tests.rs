//! Elections against an API server with one Lease, in paused time.

use tokio::time::Instant;

use self::server::{Server, ServerFault};
use super::*;

mod deleted;
mod lost;
mod server;

/// A process that leads when it can, until its token is canceled (it then releases the Lease) or it loses the Lease.
fn process(
    server: &Server,
    name: &'static str,
    stop: &CancellationToken,
) -> tokio::task::JoinHandle<Option<LeadershipEnd>> {
    run(server.candidate(name), stop)
}

fn run(mut elector: LeaderElector, stop: &CancellationToken) -> tokio::task::JoinHandle<Option<LeadershipEnd>> {
    let stop = stop.clone();
    tokio::spawn(async move {
        if !elector.acquire(&stop).await.unwrap() {
            return None;
        }
        let held = elector.keep_leading(&stop).await;
        if held == LeadershipEnd::Stopped {
            elector.release().await;
        }
        Some(held)
    })
}

/// Waits until `holder` holds the Lease, and returns how long that took.
async fn until_held_by(server: &Server, holder: &str) -> Duration {
    let start = Instant::now();
    while server.holder().as_deref() != Some(holder) {
        sleep(Duration::from_millis(10)).await;
        assert!(start.elapsed() < Duration::from_secs(60), "{holder} never leads");
    }
    start.elapsed()
}

/// Checks that only the renewals of the leader are sent.
async fn is_quiet(server: &Server) {
    server.requests();
    sleep(Duration::from_secs(60)).await;
    let requests = server.requests();
    assert!(requests.iter().all(|verb| verb == "PUT") && (29..=31).contains(&requests.len()), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn one_candidate_leads_and_a_standby_watches_without_polling() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let _first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    let _second = process(&server, "second", &stop);
    sleep(Duration::from_secs(1)).await;
    is_quiet(&server).await;
    assert_eq!((server.holder().as_deref(), server.transitions()), (Some("first"), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_replaced_when_its_lease_expires_and_a_stopped_one_at_once() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let first = process(&server, "first", &CancellationToken::new());
    until_held_by(&server, "first").await;
    let second = process(&server, "second", &stop);
    sleep(Duration::from_secs(5)).await;
    first.abort();
    let took = until_held_by(&server, "second").await;
    assert!((12.0..=15.5).contains(&took.as_secs_f64()), "{took:?}");
    assert_eq!(server.transitions(), Some(1));

    let _third = process(&server, "third", &CancellationToken::new());
    sleep(Duration::from_secs(5)).await;
    stop.cancel();
    assert!(until_held_by(&server, "third").await < Duration::from_millis(500));
    assert_eq!(second.await.unwrap(), Some(LeadershipEnd::Stopped));
    assert_eq!(server.transitions(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_leader_does_not_write_after_its_deadline_and_resumes_if_no_other_led() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let mut elector = server.candidate("first");
    let fence = elector.fence();
    assert!(elector.acquire(&stop).await.unwrap());
    let first = tokio::spawn(async move { elector.keep_leading(&stop).await });
    server.set(ServerFault::Hangs);
    let start = Instant::now();
    fence.closed().await;
    assert!((8.0..=10.1).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
    sleep(Duration::from_secs(320)).await;
    assert!(!fence.is_open() && !first.is_finished());
    server.requests();
    sleep(Duration::from_secs(60)).await;
    let requests = server.requests().len();
    assert!((8..=12).contains(&requests), "{requests} requests in a minute");
    server.set(ServerFault::None);
    let start = Instant::now();
    fence.opened().await;
    assert!(start.elapsed() < Duration::from_secs(7), "{:?}", start.elapsed());
    sleep(Duration::from_secs(60)).await;
    assert!(fence.is_open() && !first.is_finished());
    assert_eq!((server.holder().as_deref(), server.transitions()), (Some("first"), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_leader_ends_if_another_led_in_the_meantime_even_one_that_released() {
    for released in [false, true] {
        let (server, stop) = (Server::new(), CancellationToken::new());
        let first = process(&server, "first", &stop);
        until_held_by(&server, "first").await;
        server.set(ServerFault::Hangs);
        sleep(Duration::from_secs(20)).await;
        server.lease.send_modify(|lease| {
            let lease = lease.as_mut().unwrap();
            lease.metadata.resource_version = Some("100".into());
            let holder = if released { "" } else { "second" };
            lease.spec.as_mut().unwrap().holder_identity = Some(holder.into());
        });
        server.set(ServerFault::None);
        assert!(matches!(first.await.unwrap(), Some(LeadershipEnd::Lost(_))));
        assert_eq!(server.transitions(), Some(0), "it has written nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_survives_a_short_outage_and_a_deleted_lease() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    server.set(ServerFault::Hangs);
    sleep(Duration::from_secs(5)).await;
    server.set(ServerFault::None);
    sleep(Duration::from_secs(20)).await;
    server.lease.send_replace(None);
    until_held_by(&server, "first").await;
    sleep(Duration::from_secs(20)).await;
    assert!(!first.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_replaced_leader_is_lost_at_its_next_renewal() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    server.lease.send_modify(|lease| {
        let lease = lease.as_mut().unwrap();
        lease.metadata.resource_version = Some("100".into());
        lease.spec.as_mut().unwrap().holder_identity = Some("thief".into());
    });
    let start = Instant::now();
    assert_eq!(first.await.unwrap(), Some(LeadershipEnd::Lost("thief holds the lease now".into())));
    assert!(start.elapsed() <= Duration::from_millis(2100));
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_may_not_watch_polls_at_the_retry_period() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    server.set(ServerFault::ForbidsWatches);
    let first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    let _second = process(&server, "second", &CancellationToken::new());
    sleep(Duration::from_secs(1)).await;
    server.requests();
    sleep(Duration::from_secs(22)).await;
    let polls = server.requests().iter().filter(|verb| *verb == "GET").count();
    assert!((8..=11).contains(&polls), "{polls}");
    stop.cancel();
    assert!(until_held_by(&server, "second").await < Duration::from_millis(2500));
    assert_eq!(first.await.unwrap(), Some(LeadershipEnd::Stopped));
}

/// Policies and webhooks may change.
#[tokio::test(start_paused = true)]
async fn a_rejected_lease_is_retried_unless_its_name_is_rejected() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    server.set(ServerFault::Refuses(""));
    let first = process(&server, "first", &stop);
    sleep(Duration::from_secs(20)).await;
    assert!(!first.is_finished() && server.holder().is_none());
    server.set(ServerFault::None);
    assert!(until_held_by(&server, "first").await < Duration::from_millis(2500));

    let other = Server::new();
    other.set(ServerFault::Refuses("metadata.name"));
    assert!(other.candidate("second").acquire(&stop).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_suspended_may_not_write_before_it_has_renewed() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let mut elector = server.candidate("first");
    let fence = elector.fence();
    assert!(!fence.is_open());
    assert!(elector.acquire(&stop).await.unwrap());
    assert!(fence.is_open());
    // The elector does not run in the meantime, as in a suspended process.
    tokio::time::advance(RENEW_DEADLINE - Duration::from_secs(1)).await;
    assert!(fence.is_open());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!fence.is_open());
    let held = tokio::spawn(async move { elector.keep_leading(&stop).await });
    fence.opened().await;
    assert_eq!(
        (server.holder().as_deref(), server.requests().last().map(String::as_str)),
        (Some("first"), Some("PUT"))
    );
    assert!(!held.is_finished() && Fence::open().is_open());
}

#[tokio::test(start_paused = true)]
async fn exactly_one_of_many_candidates_leads() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let names = ["a", "b", "c", "d", "e", "f"];
    let racers: Vec<_> = names.iter().map(|name| process(&server, name, &stop)).collect();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(server.transitions(), Some(0));
    stop.cancel();
    let led = futures::future::join_all(racers).await.into_iter().filter(|led| matches!(led, Ok(Some(_)))).count();
    assert_eq!((led, server.holder().as_deref()), (1, Some("")));
}
