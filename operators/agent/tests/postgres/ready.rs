//! `agent pg-ready`, beside a server: what `pg_isready` would say of it.

use std::process::Output;
use std::time::{Duration, Instant};

use crate::support::{Place, signal, stderr};

/// A probe, by the socket of the server as in its pod.
fn probe(place: &Place, more: &[&str]) -> Output {
    let data = place.text("volume/data");
    let probe = ["pg-ready", "--pgdata", &data, "--reserve=0"];
    place.agent(&[&probe, more].concat()).env("PGHOST", &place.directory).output().unwrap()
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_server_that_stands_still_is_not_ready_and_loses_no_session() {
    let place = Place::new("ready");
    let server = place.serve();
    assert_eq!(probe(&place, &[]).status.code(), Some(0));
    let since = server.sql("postgres", "SELECT pg_postmaster_start_time()");
    signal("-STOP", &server.pid());
    let asked = Instant::now();
    let told = probe(&place, &["--wait=3"]);
    assert!(asked.elapsed() < Duration::from_secs(5), "the kubelet would have killed it");
    assert!(told.status.code() == Some(1) && stderr(&told).contains("no response"), "{told:?}");
    signal("-CONT", &server.pid());
    assert_eq!(probe(&place, &["--wait=3"]).status.code(), Some(0));
    assert_eq!(server.sql("postgres", "SELECT pg_postmaster_start_time()"), since);
    assert!(!place.log().contains("terminating"), "{}", place.log());
    // Nor does a probe leave a word in the log, whether the rules ask for a password or not.
    let rules = "local all all trust\nhost all all all scram-sha-256\n";
    std::fs::write(place.path("volume/data/pg_hba.conf"), rules).unwrap();
    server.sql("postgres", "CREATE DATABASE boss");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let before = place.log().len();
    for _ in 0..10 {
        assert_eq!(probe(&place, &[]).status.code(), Some(0));
    }
    let said = place.log()[before..].to_owned();
    assert!(!said.contains("FATAL") && !said.contains("client"), "{said}");
    server.stop();
    let told = probe(&place, &[]);
    assert!(told.status.code() == Some(1) && stderr(&told).contains("no response"), "{told:?}");
}
