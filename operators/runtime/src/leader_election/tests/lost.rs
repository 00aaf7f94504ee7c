//! Connections that are lost without a word, in an outage that is over before any probe: who waits on such ones has to hear of it.

use super::*;

/// A leader and a standby, both at work, and what each knows of outages.
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
async fn a_standby_whose_watch_is_silent_while_the_lease_is_renewed_has_watches_begin_again() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let [leaders, standbys] = leader_and_standby(&server, &stop).await;
    server.set(Fault::LosesWatches);
    sleep(Duration::from_secs(3)).await;
    server.set(Fault::None);
    sleep(Duration::from_secs(5)).await;
    assert_eq!((leaders.over(), standbys.over()), (0, 1));
    is_quiet(&server).await;
    assert_eq!((leaders.over(), standbys.over()), (0, 1), "once");
}

/// Some proxies hold the events of watches back for ever.
#[tokio::test(start_paused = true)]
async fn a_standby_whose_watches_never_tell_anything_has_them_begin_again_once() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let [_, standbys] = leader_and_standby(&server, &stop).await;
    server.set(Fault::LosesWatches);
    sleep(Duration::from_secs(10)).await;
    server.requests();
    sleep(Duration::from_secs(60)).await;
    let looks = server.requests().iter().filter(|verb| *verb != "PUT").count();
    assert!(looks <= 12, "{looks} in a minute: a look and a watch each time that the Lease might have expired");
    assert_eq!(standbys.over(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_answered_has_watches_begin_again_though_a_probe_is() {
    let (server, stop) = (Server::new(), CancellationToken::new());
    let outages = leader_and_standby(&server, &stop).await;
    server.set(Fault::Hangs);
    sleep(Duration::from_secs(5)).await;
    server.set(Fault::None);
    sleep(Duration::from_secs(8)).await;
    assert_eq!(outages.each_ref().map(Outages::over), [1, 1]);
    is_quiet(&server).await;
    assert_eq!(outages.each_ref().map(Outages::over), [1, 1], "once");
}

/// Nothing is lost with a leader that is killed: its Lease is as the watch reported it.
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
