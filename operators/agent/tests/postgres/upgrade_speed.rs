//! How long writers wait for an upgrade, against a dump and a restore one after the other.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::support::{Fixture, PASSWORD, stderr};
use crate::upgrade::Pair;

fn run(command: &mut Command) {
    let output = command.stdout(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn downtime_is_shorter_than_dump_and_restore() {
    let mut pair = Pair::new("upgrade-speed", "15", "17");
    pair.new.durable = true;
    let pair = pair;
    let old = pair.old.serve();
    old.fill();
    let table = "CREATE TABLE t AS SELECT n AS id, md5(n::text) AS a, repeat(md5(n::text), 2) AS b, now() AS at \
                 FROM generate_series(1, 400000) n; ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX ON t (a); \
                 CREATE TABLE u AS SELECT * FROM t WHERE id % 4 = 0; ALTER TABLE u ADD FOREIGN KEY (id) REFERENCES t";
    old.sql("app", table);
    eprintln!("{}", old.sql("app", "SELECT pg_size_pretty(pg_database_size('app'))"));

    // Into a server with its usual settings, as an administrator would do it by hand.
    let mut plain = Fixture::of("upgrade-speed-plain", "17");
    plain.durable = true;
    let target = plain.serve();
    target.sql("postgres", "CREATE ROLE reader");
    let dump = plain.text("app.dump");
    let since = Instant::now();
    let client = |program: &str, host: &str| {
        let mut command = plain.program(program);
        command.env("PGPASSWORD", PASSWORD).args(["-U", "boss", "-h", host]);
        command
    };
    run(client("pg_dump", &pair.old.host).args(["-Fc", "-f", &dump, "app"]));
    let dumped = since.elapsed();
    run(client("pg_restore", &plain.host).args(["--create", "-d", "postgres", &dump]));
    let sequential = since.elapsed();
    eprintln!("pg_dump -Fc {dumped:.2?}, with pg_restore {sequential:.2?}");
    drop(target);
    for jobs in ["1", "2"] {
        let new = pair.empty();
        assert_eq!(new.sql("template1", "SHOW fsync"), "on");
        let result = pair.upgraded(&["--jobs", jobs]);
        let downtime = result["copiedAt"].as_u64().unwrap() - result["closedAt"].as_u64().unwrap();
        eprintln!("--jobs {jobs}: closed for {downtime} ms, {} s in all", result["seconds"]);
        drop(new);
        pair.open_old(&old);
        assert!(u128::from(downtime) < sequential.as_millis() * 3 / 2, "{downtime} ms against {sequential:?}");
    }
}
