//! Foreign tables of servers that do not answer.

use crate::support::{Place, Server, stderr};
use crate::upgrade::Pair;

/// Of a server that is not there: a view that was filled, one of that one, and one that needs no server.
const UNANSWERED: &str = "CREATE EXTENSION postgres_fdw; CREATE SERVER gone FOREIGN DATA WRAPPER postgres_fdw \
    OPTIONS (host '127.0.0.1', port '1'); CREATE USER MAPPING FOR PUBLIC SERVER gone OPTIONS (password 'x'); \
    GRANT USAGE ON FOREIGN SERVER gone TO app; SET ROLE app; CREATE FOREIGN TABLE far (a int) SERVER gone; \
    CREATE MATERIALIZED VIEW a_far AS SELECT a FROM far WITH NO DATA; \
    CREATE MATERIALIZED VIEW b_near AS SELECT 7 AS a; \
    CREATE MATERIALIZED VIEW c_farther AS SELECT a FROM a_far WITH NO DATA; CREATE UNIQUE INDEX ON c_farther (a); \
    RESET ROLE; UPDATE pg_class SET relispopulated = true WHERE relname IN ('a_far', 'c_farther')";

fn make(server: &Server<'_>, sql: &str) {
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "GRANT CREATE ON SCHEMA public TO app");
    server.sql("app", sql);
}

fn check_unfilled(server: &Server<'_>) {
    let filled = "SELECT string_agg(concat_ws(' ', relname, relispopulated, relowner::regrole), ', ' ORDER BY relname) \
                  FROM pg_class WHERE relkind = 'm'";
    assert_eq!(server.sql("app", filled), "a_far f app, b_near t app, c_farther f app");
    assert_eq!(server.sql("app", "SELECT a FROM b_near"), "7");
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_view_of_a_server_that_does_not_answer_comes_back_unfilled() {
    let (old, new) = (Place::new("unanswered"), Place::new("unanswered-restored"));
    let server = old.serve();
    make(&server, UNANSWERED);
    old.dump("one", &[]);
    let verified = old.verify("one", &["--jobs", "2"]).output().unwrap();
    let said = stderr(&verified);
    assert!(
        verified.status.success() && said.contains("stay unfilled") && said.contains("public.a_far (and 1 more)"),
        "{said}"
    );
    let target = new.serve();
    let restored = new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    let told = restored["warnings"].to_string();
    assert!(told.contains("stay unfilled") && told.contains("a_far") && told.contains("and 1 more"), "{told}");
    check_unfilled(&target);
}

/// The old server still has what the view held: the upgrade goes back, and says which view it is.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_view_of_a_server_that_does_not_answer_is_lost_by_no_upgrade() {
    let pair = Pair::new("unanswered-upgrade", "15", "17");
    let old = pair.old.serve();
    make(&old, UNANSWERED);
    let _new = pair.empty();
    assert_eq!(pair.fails(&[]), ("RestoreFailed".into(), true.into()));
    let message = pair.new.reason().1;
    assert!(message.contains("REFRESH MATERIALIZED VIEW \"public\".\"a_far\""), "{message}");
}
