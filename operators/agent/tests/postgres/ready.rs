//! `agent pg-ready` with a server: it reports what `pg_isready` would.

use std::process::Output;
use std::time::{Duration, Instant};

use crate::support::{Fixture, signal, stderr};

/// A probe, by the socket of the server as in its pod.
fn probe(fixture: &Fixture, more: &[&str]) -> Output {
    let data = fixture.text("volume/data");
    let probe = ["pg-ready", "--pgdata", &data, "--reserve=0"];
    fixture.agent(&[&probe, more].concat()).env("PGHOST", &fixture.directory).output().unwrap()
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_server_that_stands_still_is_not_ready_and_loses_no_session() {
    let fixture = Fixture::new("ready");
    let server = fixture.serve();
    assert_eq!(probe(&fixture, &[]).status.code(), Some(0));
    let since = server.sql("postgres", "SELECT pg_postmaster_start_time()");
    signal("-STOP", &server.pid());
    let asked = Instant::now();
    let reported = probe(&fixture, &["--wait=3"]);
    assert!(asked.elapsed() < Duration::from_secs(5), "the kubelet would have killed it");
    assert!(reported.status.code() == Some(1) && stderr(&reported).contains("no response"), "{reported:?}");
    signal("-CONT", &server.pid());
    assert_eq!(probe(&fixture, &["--wait=3"]).status.code(), Some(0));
    assert_eq!(server.sql("postgres", "SELECT pg_postmaster_start_time()"), since);
    assert!(!fixture.log().contains("terminating"), "{}", fixture.log());
    // Nor does a probe leave a line in the log, whether the rules require a password or not.
    let rules = "local all all trust\nhost all all all scram-sha-256\n";
    std::fs::write(fixture.path("volume/data/pg_hba.conf"), rules).unwrap();
    server.sql("postgres", "CREATE DATABASE boss");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let before = fixture.log().len();
    for _ in 0..10 {
        assert_eq!(probe(&fixture, &[]).status.code(), Some(0));
    }
    let output = fixture.log()[before..].to_owned();
    assert!(!output.contains("FATAL") && !output.contains("client"), "{output}");
    server.stop();
    let reported = probe(&fixture, &[]);
    assert!(reported.status.code() == Some(1) && stderr(&reported).contains("no response"), "{reported:?}");
}
