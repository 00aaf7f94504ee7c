//! Elections against an API server that holds one Lease, in time that passes only when everybody waits.

use tokio::time::Instant;

use self::server::{Fault, Server};
use super::*;

mod deleted;
mod lost;
mod server;

/// A process that leads when it can, until its token is cancelled (`release`d then) or it loses the lease.
fn process(server: &Server, name: &'static str, stop: &CancellationToken) -> tokio::task::JoinHandle<Option<Held>> {
    run(server.candidate(name), stop)
}

fn run(mut elector: LeaderElector, stop: &CancellationToken) -> tokio::task::JoinHandle<Option<Held>> {
    let stop = stop.clone();
    tokio::spawn(async move {
        if !elector.acquire(&stop).await.unwrap() {
            return None;
        }
        let held = elector.hold(&stop).await;
        if held == Held::Stopped {
            elector.release().await;
        }
        Some(held)
    })
}

/// Lets time pass until `holder` holds the lease; says how long that took.
async fn until_held_by(server: &Server, holder: &str) -> Duration {
    let start = Instant::now();
    while server.holder().as_deref() != Some(holder) {
        sleep(Duration::from_millis(10)).await;
        assert!(start.elapsed() < Duration::from_secs(60), "{holder} never leads");
    }
    start.elapsed()
}

/// Nothing but the leader's renewals is sent.
async fn is_quiet(server: &Server) {
    server.requests();
    sleep(Duration::from_secs(60)).await;
    let requests = server.requests();
    assert!(requests.iter().all(|verb| verb == "PUT") && (29..=31).contains(&requests.len()), "{requests:?}");
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_a_standby_watches_without_polling() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let _first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    let _second = process(&server, "second", &stop);
    sleep(Duration::from_secs(1)).await;
    is_quiet(&server).await;
    assert_eq!((server.holder().as_deref(), server.transitions()), (Some("first"), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_followed_when_its_lease_ends_and_a_stopped_one_at_once() {
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
    assert_eq!(second.await.unwrap(), Some(Held::Stopped));
    assert_eq!(server.transitions(), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_leader_writes_nothing_after_its_deadline_and_goes_on_if_nobody_else_led() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let mut elector = server.candidate("first");
    let fence = elector.fence();
    assert!(elector.acquire(&stop).await.unwrap());
    let first = tokio::spawn(async move { elector.hold(&stop).await });
    server.set(Fault::Hangs);
    let start = Instant::now();
    fence.closed().await;
    assert!((8.0..=10.1).contains(&start.elapsed().as_secs_f64()), "{:?}", start.elapsed());
    sleep(Duration::from_secs(320)).await;
    assert!(!fence.is_open() && !first.is_finished());
    server.requests();
    sleep(Duration::from_secs(60)).await;
    let requests = server.requests().len();
    assert!((8..=12).contains(&requests), "{requests} requests in a minute");
    server.set(Fault::None);
    let start = Instant::now();
    fence.opened().await;
    assert!(start.elapsed() < Duration::from_secs(7), "{:?}", start.elapsed());
    sleep(Duration::from_secs(60)).await;
    assert!(fence.is_open() && !first.is_finished());
    assert_eq!((server.holder().as_deref(), server.transitions()), (Some("first"), Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_cut_off_ends_if_another_led_meanwhile_even_if_that_is_gone() {
    for released in [false, true] {
        let (server, stop) = (Server::new(), CancellationToken::new());
        let first = process(&server, "first", &stop);
        until_held_by(&server, "first").await;
        server.set(Fault::Hangs);
        sleep(Duration::from_secs(20)).await;
        server.lease.send_modify(|lease| {
            let lease = lease.as_mut().unwrap();
            lease.metadata.resource_version = Some("100".into());
            let holder = if released { "" } else { "second" };
            lease.spec.as_mut().unwrap().holder_identity = Some(holder.into());
        });
        server.set(Fault::None);
        assert!(matches!(first.await.unwrap(), Some(Held::Lost(_))));
        assert_eq!(server.transitions(), Some(0), "it has written nothing");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_survives_a_short_outage_and_a_deleted_lease() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    server.set(Fault::Hangs);
    sleep(Duration::from_secs(5)).await;
    server.set(Fault::None);
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
    assert_eq!(first.await.unwrap(), Some(Held::Lost("thief holds the lease now".into())));
    assert!(start.elapsed() <= Duration::from_millis(2100));
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_may_not_watch_polls_at_the_retry_period() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    server.set(Fault::ForbidsWatches);
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
    assert_eq!(first.await.unwrap(), Some(Held::Stopped));
}

/// Policies and webhooks come and go.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_refused_is_tried_again_unless_it_is_for_its_name() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    server.set(Fault::Refuses(""));
    let first = process(&server, "first", &stop);
    sleep(Duration::from_secs(20)).await;
    assert!(!first.is_finished() && server.holder().is_none());
    server.set(Fault::None);
    assert!(until_held_by(&server, "first").await < Duration::from_millis(2500));

    let other = Server::new();
    other.set(Fault::Refuses("metadata.name"));
    assert!(other.candidate("second").acquire(&stop).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_stood_still_may_not_write_before_it_has_looked() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let mut elector = server.candidate("first");
    let fence = elector.fence();
    assert!(!fence.is_open());
    assert!(elector.acquire(&stop).await.unwrap());
    assert!(fence.is_open());
    // Nothing of the elector runs meanwhile, as in a process that is stopped.
    tokio::time::advance(RENEW_DEADLINE - Duration::from_secs(1)).await;
    assert!(fence.is_open());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(!fence.is_open());
    let held = tokio::spawn(async move { elector.hold(&stop).await });
    fence.opened().await;
    assert_eq!(
        (server.holder().as_deref(), server.requests().last().map(String::as_str)),
        (Some("first"), Some("PUT"))
    );
    assert!(!held.is_finished() && Fence::open().is_open());
}

#[tokio::test(start_paused = true)]
async fn of_many_that_race_exactly_one_leads() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let names = ["a", "b", "c", "d", "e", "f"];
    let racers: Vec<_> = names.iter().map(|name| process(&server, name, &stop)).collect();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(server.transitions(), Some(0));
    stop.cancel();
    let led = futures::future::join_all(racers).await.into_iter().filter(|led| matches!(led, Ok(Some(_)))).count();
    assert_eq!((led, server.holder().as_deref()), (1, Some("")));
}
