//! What of a whole server no dump has: a snapshot names it, and an upgrade refuses it or names it. Each kind is there once.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Place, Server};
use crate::upgrade::Pair;

/// What is in no dump, and lets an upgrade be done; with the words by which it is named.
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

/// What an upgrade refuses: how it is made and taken back, the reason, and the words of an upgrade and of a snapshot, which has
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
        "\"shut\": there is a database that takes no connections, so that it cannot be copied",
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

fn serve(place: &Place) -> Server<'_> {
    fs::create_dir_all(place.path("conf")).unwrap();
    place.write("conf/more.conf", "max_prepared_transactions = 3\n");
    let folder = place.path("space");
    fs::create_dir(&folder).unwrap();
    assert!(Command::new("chown").arg("999").arg(&folder).status().unwrap().success());
    place.serve()
}

/// Statements one by one, as some are none of a transaction's.
fn run(place: &Place, server: &Server<'_>, sql: &str) {
    let mut client = server.client("boss", crate::support::PASSWORD, "postgres");
    for one in sql.replace("$SPACE", &place.text("space")).split("; ") {
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
    let place = Place::new("left-out");
    let mut server = serve(&place);
    let mut named = Vec::new();
    let refused = REFUSED.iter().filter_map(|(make, .., told)| Some((*make, (*told)?)));
    for (make, told) in NAMED.into_iter().chain(refused) {
        run(&place, &server, make);
        named.push(told);
    }
    named.sort_unstable();
    assert_eq!(not_covered(&place.dump("one", &[])), named);
    server.kill();
    let (data, run) = (place.text("volume/data"), place.text(""));
    let offline = ["--offline", &data, "--run-dir", run.trim_end_matches('/')];
    assert_eq!(not_covered(&place.dump("two", &offline)), named);
    place.verified("two", &[]);
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
    for (make, undo, reason, words, _) in REFUSED {
        run(&pair.old, &old, make);
        let (told, message) = pair.old.fails(&["pg-survey"]);
        assert!(told == reason && message.starts_with(words), "{told}: {message}");
        assert_eq!(pair.fails(&[]), (reason.into(), false.into()));
        let message = pair.new.reason().1;
        assert!(message.starts_with(words), "{message}");
        run(&pair.old, &old, undo);
        assert_eq!(pair.old.run(&["pg-survey"])["notCovered"], json!([]), "{undo}");
    }
    for (make, _) in NAMED {
        run(&pair.old, &old, make);
    }
    let mut named = NAMED.map(|(_, told)| told);
    named.sort_unstable();
    assert_eq!(not_covered(&pair.old.run(&["pg-survey"])), named);
    // What is to be done after each release, which comes into every database that lets it in.
    pair.old.run(&["pg-finish", "--major"]);
    assert_eq!(not_covered(&pair.upgraded(&[])), named);
}
