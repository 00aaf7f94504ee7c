//! Random databases, many to a server, through all that the operator does to them: what pg_dump prints of their definitions, and
//! the sums of their rows, are the same afterwards.

use std::io::Write;
use std::process::Output;

use random_databases::{Contents, Dice, allow_connections, closed, contents, difference, make, make_roles};

use crate::support::{Fixture, PASSWORD, Server};
use crate::upgrade::Pair;

/// How many databases a server has.
const A_SERVER: usize = 25;
/// How many databases there are in all, unless `PROPTEST_CASES` sets it.
const DATABASES: u32 = 50;

/// A server, and the place whose programs read it.
struct Source<'a> {
    server: &'a Server<'a>,
    programs: &'a Fixture,
}

impl random_databases::Server for Source<'_> {
    fn psql(&self, database: &str, texts: &[String]) -> Output {
        let mut psql = self.server.client("boss", PASSWORD, database);
        psql.args(["-v", "ON_ERROR_STOP=0"]);
        psql.args(texts.iter().map(|text| format!("--command={text}"))).output().unwrap()
    }

    fn pg_dump(&self, database: &str, options: &[&str]) -> Output {
        let mut dump = self.programs.program("pg_dump");
        dump.args(options).args(["-h", &self.programs.host, "-U", "boss", "-d"]);
        dump.arg(format!("dbname='{}'", database.replace('\'', "\\'"))).env("PGPASSWORD", PASSWORD);
        // It takes off a database's own limit by its second statement.
        dump.env("PGOPTIONS", "-c statement_timeout=0").output().unwrap()
    }
}

fn servers() -> usize {
    usize::try_from(seed::cases(DATABASES)).unwrap().div_ceil(A_SERVER)
}

/// What has been done so far, past the harness, which keeps a test's output until it ends: hundreds of databases take hours.
fn print(round: usize, what: &str, last: &Contents) {
    let (done, all) = ((round + 1) * A_SERVER, servers() * A_SERVER);
    let _ = writeln!(std::io::stderr(), "{done} of {all} databases {what}; of the last {A_SERVER}: {}", last.totals);
}

fn filled(source: &Source<'_>, dice: &mut Dice) -> Vec<String> {
    make_roles(source);
    (0..A_SERVER).map(|number| make(source, dice, number)).collect()
}

#[test]
#[ignore = "scripts/test --all servers"]
fn random_databases_come_back_from_a_snapshot() {
    let mut dice = Dice::new(seed::rng!());
    for round in 0..servers() {
        let (old, new) = (Fixture::new(&format!("random-{round}")), Fixture::new(&format!("random-{round}-restored")));
        let server = old.serve();
        let source = Source { server: &server, programs: &old };
        let stories = filled(&source, &mut dice);
        let before = contents(&source);
        let dumped = old.dump("one", &[]);
        assert_eq!(dumped["notCovered"].as_array().map_or(0, Vec::len), 0, "{dumped}");
        old.verified("one", &["--jobs", "2"]);
        let server = new.serve();
        new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one"), "--jobs", "2"]);
        let after = contents(&Source { server: &server, programs: &new });
        assert_eq!(difference(&before, &after, &stories), None);
        print(round, "came back", &after);
    }
}

#[test]
#[ignore = "scripts/test --all servers"]
fn random_databases_survive_an_upgrade() {
    let mut dice = Dice::new(seed::rng!());
    for round in 0..servers() {
        let pair = Pair::new(&format!("random-upgrade-{round}"), "15", "17");
        let old = pair.old.serve();
        // Both as the newer pg_dump prints them.
        let mut reader = Fixture::of(&format!("random-reader-{round}"), "17");
        reader.host.clone_from(&pair.old.host);
        let source = Source { server: &old, programs: &reader };
        let stories = filled(&source, &mut dice);
        let before = contents(&source);
        let new = pair.empty();
        // Databases that take no connections are refused, and open until the upgrade is over.
        let closed = closed(&source);
        if !closed.is_empty() {
            assert_eq!(pair.fails(&[]).0, "Unsupported");
        }
        closed.iter().for_each(|database| allow_connections(&source, database, true));
        pair.upgraded(&["--jobs", "2"]);
        let new = pair.opened(new);
        pair.new.run(&["pg-finish", "--major"]);
        let target = Source { server: &new, programs: &pair.new };
        closed.iter().for_each(|database| allow_connections(&target, database, false));
        let after = contents(&target);
        assert_eq!(difference(&before, &after, &stories), None);
        print(round, "were upgraded", &after);
    }
}
