//! What a dump leaves out of a server: a snapshot names it, and an upgrade refuses it or names it. Each kind exists once.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Fixture, Server};
use crate::upgrade::Pair;

/// What no dump has and an upgrade allows, with the message about it.
const NAMED: [(&str, &str); 3] = [
    (
        "SELECT pg_create_physical_replication_slot('feed')",
        "\"feed\" is a replication slot: what reads from it has to start again",
    ),
    (
        "SELECT pg_replication_origin_create('upstream'); SELECT pg_replication_origin_advance('upstream', '0/1')",
        "\"upstream\" is a replication origin: the progress of its subscription is not kept",
    ),
    // As DROP DATABASE leaves one that is killed.
    (
        "CREATE DATABASE half; UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'half'",
        "\"half\" is a database whose DROP DATABASE was interrupted; drop it again",
    ),
];

/// What an upgrade refuses: SQL to create and to undo it, the reason, and the messages of an upgrade and of a snapshot, which has
/// all of the last ones.
const REFUSED: [(&str, &str, &str, &str, Option<&str>); 4] = [
    (
        "CREATE TABLESPACE fast LOCATION '$SPACE'",
        "DROP TABLESPACE fast",
        "Unsupported",
        "\"fast\": there is a tablespace, which the operator's volumes do not support",
        Some("\"fast\" is a tablespace: its contents are kept, in the default tablespace"),
    ),
    (
        "BEGIN; CREATE TABLE p (a int); PREPARE TRANSACTION 'one'",
        "ROLLBACK PREPARED 'one'",
        "PreparedTransactions",
        "1 transactions are prepared (one is \"one\" in database \"postgres\")",
        Some("\"one\" is a prepared transaction: its writes are left out until it is committed"),
    ),
    (
        "CREATE DATABASE shut ALLOW_CONNECTIONS false",
        "DROP DATABASE shut",
        "Unsupported",
        "\"shut\": there is a database that accepts no connections, so it cannot be copied",
        None,
    ),
    (
        "ALTER SUBSCRIPTION inbox ENABLE",
        "ALTER SUBSCRIPTION inbox DISABLE; ALTER SUBSCRIPTION inbox SET (slot_name = NONE); DROP SUBSCRIPTION inbox",
        "Unsupported",
        "\"inbox\": there is a subscription, which writes even while clients are blocked; disable it",
        None,
    ),
];

fn serve(fixture: &Fixture) -> Server<'_> {
    fs::create_dir_all(fixture.path("conf")).unwrap();
    fixture.write("conf/more.conf", "max_prepared_transactions = 3\n");
    let directory = fixture.path("space");
    fs::create_dir(&directory).unwrap();
    assert!(Command::new("chown").arg("999").arg(&directory).status().unwrap().success());
    fixture.serve()
}

/// Statements one by one, as some are none of a transaction's.
fn run(fixture: &Fixture, server: &Server<'_>, sql: &str) {
    let mut client = server.client("boss", crate::support::PASSWORD, "postgres");
    for one in sql.replace("$SPACE", &fixture.text("space")).split("; ") {
        client.args(["-c", one]);
    }
    let output = client.output().unwrap();
    assert!(output.status.success(), "{sql}: {output:?}");
}

fn not_covered(result: &Value) -> Vec<&str> {
    let mut all: Vec<_> = result["notCovered"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    all.sort_unstable();
    all
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_a_dump_has_not_is_named_with_a_server_and_without_one() {
    let fixture = Fixture::new("left-out");
    let mut server = serve(&fixture);
    let mut named = Vec::new();
    let refused = REFUSED.iter().filter_map(|(make, .., reported)| Some((*make, (*reported)?)));
    for (make, reported) in NAMED.into_iter().chain(refused) {
        run(&fixture, &server, make);
        named.push(reported);
    }
    named.sort_unstable();
    assert_eq!(not_covered(&fixture.dump("one", &[])), named);
    server.kill();
    let (data, run) = (fixture.text("volume/data"), fixture.text(""));
    let offline = ["--offline", &data, "--run-dir", run.trim_end_matches('/')];
    assert_eq!(not_covered(&fixture.dump("two", &offline)), named);
    fixture.verified("two", &[]);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn what_an_upgrade_cannot_copy_is_refused_and_what_it_leaves_is_named() {
    let pair = Pair::new("left-out-upgrade", "15", "17");
    let old = serve(&pair.old);
    let _new = pair.empty();
    // Disabled, it writes nothing, and is refused only where it is enabled below.
    let subscription = "CREATE SUBSCRIPTION inbox CONNECTION 'host=127.0.0.1 port=1' PUBLICATION p \
                        WITH (connect = false, slot_name = 'inbox')";
    run(&pair.old, &old, subscription);
    for (make, undo, reason, expected, _) in REFUSED {
        run(&pair.old, &old, make);
        let (found, message) = pair.old.fails(&["pg-survey"]);
        assert!(found == reason && message.starts_with(expected), "{found}: {message}");
        assert_eq!(pair.fails(&[]), (reason.into(), false.into()));
        let message = pair.new.reason().1;
        assert!(message.starts_with(expected), "{message}");
        run(&pair.old, &old, undo);
        assert_eq!(pair.old.run(&["pg-survey"])["notCovered"], json!([]), "{undo}");
    }
    for (make, _) in NAMED {
        run(&pair.old, &old, make);
    }
    let mut named = NAMED.map(|(_, reported)| reported);
    named.sort_unstable();
    assert_eq!(not_covered(&pair.old.run(&["pg-survey"])), named);
    // The command after each release, which connects to every database that accepts connections.
    pair.old.run(&["pg-finish", "--major"]);
    assert_eq!(not_covered(&pair.upgraded(&[])), named);
}
