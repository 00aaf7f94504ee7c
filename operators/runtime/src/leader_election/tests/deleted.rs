//! A Lease that somebody deletes: who held it may not have noticed, and never do two lead.

use super::*;

/// A candidate at work, and when it may write.
fn start(server: &Server, name: &str, stop: &CancellationToken) -> Fence {
    let elector = server.candidate(name);
    let fence = elector.fence();
    run(elector, stop);
    fence
}

#[tokio::test(start_paused = true)]
async fn a_leader_makes_its_lease_again_and_no_standby_leads_meanwhile() {
    for fault in [Fault::None, Fault::ForbidsWatches] {
        let (server, stop) = (Server::new(), CancellationToken::new());
        server.set(fault);
        let first = start(&server, "first", &stop);
        until_held_by(&server, "first").await;
        let second = start(&server, "second", &stop);
        for moment in 0..8 {
            sleep(Duration::from_millis(20_100 + 300 * moment)).await;
            server.lease.send_replace(None);
            let made = until_held_by(&server, "first").await;
            assert!(made <= Duration::from_millis(2100), "{made:?}");
            assert!(first.is_open() && !second.is_open());
        }
        sleep(Duration::from_secs(60)).await;
        assert!(first.is_open() && !second.is_open());
        if fault == Fault::None {
            is_quiet(&server).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_leads_after_a_leader_that_has_not_noticed_may_write_no_more() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let mut leader = server.candidate("first");
    assert!(leader.acquire(&stop).await.unwrap());
    let (first, second) = (leader.fence(), start(&server, "second", &stop));
    sleep(Duration::from_secs(1)).await;
    server.requests();
    server.lease.send_replace(None);
    let deleted = Instant::now();
    tokio::select! {
        biased;
        () = second.opened() => panic!("two lead, {:?} after the lease was deleted", deleted.elapsed()),
        () = first.closed() => {}
    }
    second.opened().await;
    let took = deleted.elapsed().as_secs_f64();
    assert!((15.0..=15.5).contains(&took), "{took}");
    let requests = server.requests();
    assert!(requests.len() <= 15, "{requests:?}");
    assert_eq!(server.holder().as_deref(), Some("second"));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_released_before_it_was_deleted_is_free_at_once() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let first = process(&server, "first", &stop);
    until_held_by(&server, "first").await;
    let mut standby = server.candidate("second");
    assert!(!matches!(standby.attempt().await, Ok(Attempt::Leading) | Err(_)));
    stop.cancel();
    first.await.unwrap();
    assert!(standby.remote.look(REQUEST_TIMEOUT).await.is_ok());
    server.lease.send_replace(None);
    assert!(matches!(standby.attempt().await, Ok(Attempt::Leading)));
}
