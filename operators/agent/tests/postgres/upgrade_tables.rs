//! A database of many tables: what reads all of it holds a lock on each until it exits, and the server has space for so
//! many and no more.

use std::time::Instant;

use crate::support::{Fixture, Server};
use crate::upgrade::{Pair, is_touched};

/// With its usual settings (64 locks a transaction, 100 connections and 21 processes of its own) a server has space for 7744
/// locks: an upgrade is refused from 7234 tables on, four of them the server's. These are nearly three times as many.
const TABLES: usize = 20_000;
/// How many tables a transaction makes: it locks them as well.
const AT_ONCE: usize = 1000;

fn fill(server: &Server<'_>, from: usize, to: usize) {
    for first in (from..to).step_by(AT_ONCE) {
        let last = (first + AT_ONCE).min(to) - 1;
        let sql = format!(
            "SET ROLE app; DO $$ BEGIN FOR n IN {first}..{last} LOOP EXECUTE pg_catalog.format('CREATE TABLE public.t%s \
             (a int PRIMARY KEY); INSERT INTO public.t%s VALUES (%s)', n, n, n); END LOOP; END $$"
        );
        server.sql("app", &sql);
    }
}

fn check(server: &Server<'_>) {
    assert_eq!(server.sql("app", "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), TABLES.to_string());
    let last = TABLES - 1;
    assert_eq!(server.sql("app", &format!("SELECT a FROM t{last}")), last.to_string());
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let since = Instant::now();
    let done = work();
    eprintln!("{TABLES} tables: {what}: {:.1?}", since.elapsed());
    done
}

fn allow_locks(fixture: &Fixture, number: &str) {
    fixture.write("conf/more.conf", &format!("max_locks_per_transaction = {number}\n"));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn many_tables_are_refused_or_come_along() {
    let pair = Pair::new("many-tables", "15", "17");
    let old = pair.old.serve();
    old.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    old.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    timed("made", || fill(&old, 0, TABLES));
    let new = pair.empty();
    // Refused while writers are in, with what to set.
    timed("an upgrade is refused", || assert_eq!(pair.fails(&[]), ("Unsupported".into(), false.into())));
    let message = pair.new.reason().1;
    // With some of the information schema's.
    assert!(message.starts_with("database app has 200") && message.contains("max_locks_per_transaction"), "{message}");
    assert!(old.psql("app", "app", "app", "INSERT INTO t0 VALUES (-1); DELETE FROM t0 WHERE a < 0").status.success());
    assert!(!is_touched(&new));
    let to = pair.old.text("snapshots/one");
    let outcome = timed("a snapshot is refused", || pair.old.fails(&["pg-dump", "--to", &to]));
    assert_eq!(outcome, ("Unsupported".into(), message.clone()));
    let number = message.rsplit_once(" to ").unwrap().1.split(' ').next().unwrap();
    old.stop();
    allow_locks(&pair.old, number);
    let old = pair.old.start();
    timed("a snapshot", || pair.old.dump("one", &[]));
    timed("its verification", || pair.old.verified("one", &["--jobs", "2"]));
    // Restored with as many locks as its source has, as its spec says.
    let copy = Fixture::new("many-tables-restored");
    copy.prepare(&[]);
    allow_locks(&copy, number);
    let restored = copy.serve();
    timed("a restore", || copy.run(&["pg-restore", "--snapshot", &pair.old.text("snapshots/one"), "--jobs", "2"]));
    check(&restored);
    drop(restored);
    new.stop();
    allow_locks(&pair.new, number);
    let new = pair.new.start();
    timed("an upgrade", || pair.upgraded(&["--jobs", "2"]));
    drop(old);
    check(&pair.opened(new));
}
