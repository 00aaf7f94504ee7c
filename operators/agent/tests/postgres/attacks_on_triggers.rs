//! A superuser has created event triggers with functions of an ordinary role: PostgreSQL runs that in every superuser's session,
//! and it does not run in those of the agent.

use crate::support::{Fixture, PASSWORD, Server};
use crate::upgrade::Pair;

/// Who runs it as a superuser makes one of its author.
const EVIL: &str = "CREATE FUNCTION evil() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN ALTER ROLE app SUPERUSER; END IF; END $$";

/// A database with an extension that is to be brought to the version of the image, and event triggers of the application's.
fn plant(fixture: &Fixture, server: &Server<'_>) {
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    server.sql("app", "CREATE EXTENSION hstore VERSION '1.4'; GRANT CREATE ON SCHEMA public TO app");
    assert!(server.psql("app", "app", "app", EVIL).status.success());
    let mut triggers = String::new();
    for event in ["ddl_command_start", "ddl_command_end", "sql_drop", "login"] {
        if event != "login" || major(fixture) >= 17 {
            triggers += &format!("CREATE EVENT TRIGGER on_{event} ON {event} EXECUTE FUNCTION evil();");
        }
    }
    server.sql("app", &triggers);
    has_no_privileges(server);
}

fn major(fixture: &Fixture) -> u32 {
    fixture.major().parse().unwrap()
}

/// Looks from another database, since the triggers would run in this session, too.
fn has_no_privileges(server: &Server<'_>) {
    assert_eq!(server.sql("postgres", "SELECT rolsuper FROM pg_roles WHERE rolname = 'app'"), "f");
}

/// How many event triggers the database has.
fn triggers(fixture: &Fixture, server: &Server<'_>) -> String {
    let mut psql = server.client("boss", PASSWORD, "app");
    psql.env("PGOPTIONS", if major(fixture) >= 17 { "-c event_triggers=off" } else { "" });
    let output = psql.arg("--command=SELECT count(*) FROM pg_event_trigger").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// After an upgrade, or for a minor release.
fn finished(fixture: &Fixture, server: &Server<'_>, more: &[&str], outdated: bool) {
    let result = fixture.run(&[&["pg-finish"], more].concat());
    let updates = outdated && major(fixture) >= 17;
    assert_eq!(result["extensions"], u64::from(updates), "{result}");
    let warned = result["warnings"].to_string().contains("would run what an ordinary role wrote");
    assert_eq!(warned, outdated && !updates, "{result}");
    has_no_privileges(server);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn event_triggers_of_what_another_wrote_run_in_no_session_of_the_agents() {
    let (old, new) = (Fixture::new("event-triggers"), Fixture::new("event-triggers-restored"));
    let server = old.serve();
    plant(&old, &server);
    let before = triggers(&old, &server);
    old.dump("one", &[]);
    old.verified("one", &[]);
    finished(&old, &server, &[], true);
    finished(&old, &server, &["--major"], major(&old) < 17);
    let server = new.serve();
    new.run(&["pg-restore", "--snapshot", &old.text("snapshots/one")]);
    has_no_privileges(&server);
    finished(&new, &server, &["--major"], false);
    assert_eq!(triggers(&new, &server), before);
}

#[test]
#[ignore = "scripts/test --all servers"]
fn event_triggers_of_what_another_wrote_do_not_run_in_an_upgrade() {
    let pair = Pair::new("event-triggers-upgrade", "15", "17");
    let server = pair.old.serve();
    plant(&pair.old, &server);
    let before = triggers(&pair.old, &server);
    let new = pair.empty();
    pair.upgraded(&[]);
    has_no_privileges(&server);
    let new = pair.opened(new);
    has_no_privileges(&new);
    finished(&pair.new, &new, &["--major"], false);
    assert_eq!(triggers(&pair.new, &new), before);
}
