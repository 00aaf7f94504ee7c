//! A Lease that is deleted: its holder may not have noticed, and never do two candidates lead.

use super::*;

/// Starts a candidate, and returns its fence.
fn start(server: &Server, name: &str, stop: &CancellationToken) -> Fence {
    let elector = server.candidate(name);
    let fence = elector.fence();
    run(elector, stop);
    fence
}

#[tokio::test(start_paused = true)]
async fn a_leader_recreates_its_lease_and_no_standby_leads_in_the_meantime() {
    for fault in [ServerFault::None, ServerFault::ForbidsWatches] {
        let (server, stop) = (Server::new(), CancellationToken::new());
        server.set(fault);
        let first = start(&server, "first", &stop);
        until_held_by(&server, "first").await;
        let second = start(&server, "second", &stop);
        for moment in 0..8 {
            sleep(Duration::from_millis(20_100 + 300 * moment)).await;
            server.lease.send_replace(None);
            let created = until_held_by(&server, "first").await;
            assert!(created <= Duration::from_millis(2100), "{created:?}");
            assert!(first.is_open() && !second.is_open());
        }
        sleep(Duration::from_secs(60)).await;
        assert!(first.is_open() && !second.is_open());
        if fault == ServerFault::None {
            is_quiet(&server).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_leads_only_after_an_unaware_leader_may_no_longer_write() {
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
    assert!(!matches!(standby.try_acquire().await, Ok(CampaignResult::Leading) | Err(_)));
    stop.cancel();
    first.await.unwrap();
    assert!(standby.lease_client.read(REQUEST_TIMEOUT).await.is_ok());
    server.lease.send_replace(None);
    assert!(matches!(standby.try_acquire().await, Ok(CampaignResult::Leading)));
}
