//! Connections that are lost without notice, in an outage that ends before any probe: requests on them must be given up.

use super::*;

/// Starts a leader and a standby, and returns the outages that each of them knows.
async fn leader_and_standby(server: &Server, stop: &CancellationToken) -> [Outages; 2] {
    let (first, second) = (server.candidate("first"), server.candidate("second"));
    let outages = [first.outages.clone(), second.outages.clone()];
    for outages in &outages {
        tokio::spawn(outages.clone().probe(server.client()));
    }
    run(first, stop);
    until_held_by(server, "first").await;
    run(second, stop);
    sleep(Duration::from_secs(5)).await;
    assert_eq!(outages.each_ref().map(Outages::over), [0, 0]);
    server.requests();
    outages
}

#[tokio::test(start_paused = true)]
async fn a_standby_with_a_silent_watch_of_a_renewed_lease_restarts_watches() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let [leaders, standbys] = leader_and_standby(&server, &stop).await;
    server.set(ServerFault::LosesWatches);
    sleep(Duration::from_secs(3)).await;
    server.set(ServerFault::None);
    sleep(Duration::from_secs(5)).await;
    assert_eq!((leaders.over(), standbys.over()), (0, 1));
    is_quiet(&server).await;
    assert_eq!((leaders.over(), standbys.over()), (0, 1), "once");
}

/// Some proxies never forward the events of watches.
#[tokio::test(start_paused = true)]
async fn a_standby_whose_watches_never_report_anything_restarts_them_once() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let [_, standbys] = leader_and_standby(&server, &stop).await;
    server.set(ServerFault::LosesWatches);
    sleep(Duration::from_secs(10)).await;
    server.requests();
    sleep(Duration::from_secs(60)).await;
    let reads = server.requests().iter().filter(|verb| *verb != "PUT").count();
    assert!(reads <= 12, "{reads} in a minute: a read and a watch each time that the Lease might have expired");
    assert_eq!(standbys.over(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_response_restarts_watches_even_if_a_probe_succeeds() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let outages = leader_and_standby(&server, &stop).await;
    server.set(ServerFault::Hangs);
    sleep(Duration::from_secs(5)).await;
    server.set(ServerFault::None);
    sleep(Duration::from_secs(8)).await;
    assert_eq!(outages.each_ref().map(Outages::over), [1, 1]);
    is_quiet(&server).await;
    assert_eq!(outages.each_ref().map(Outages::over), [1, 1], "once");
}

/// No event is lost with a killed leader: its Lease is as the watch reported it.
#[tokio::test(start_paused = true)]
async fn a_killed_leader_is_no_outage() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let (first, second) = (server.candidate("first"), server.candidate("second"));
    let outages = second.outages.clone();
    let first = run(first, &stop);
    until_held_by(&server, "first").await;
    run(second, &stop);
    sleep(Duration::from_secs(5)).await;
    first.abort();
    until_held_by(&server, "second").await;
    assert_eq!(outages.over(), 0);
}
