//! The manager's queries and changes as a superuser, on a real server whose databases belong to an attacker. `scripts/test --all
//! servers` has the trees of PostgreSQL's images. By hand, as root: `PG_TREES=<the directory that it prints> PG_TREE=15 cargo
//! test -p sample-db --lib -- --ignored`

use std::collections::BTreeMap;
use std::time::Duration;

use real_postgres::attacker::{STRIKE, TWINS, settings};
use runtime::cache::Projection;
use serde_json::json;

use super::connect::ServerAddress;
use super::{RejectedParameters, Servers, change, query};
use crate::database::login::LoginCheck;
use crate::operand::kinds::SampleDB;
use crate::queries::{ServerAccess, ServerQueries};
use server::{PASSWORD, RealServer};

mod blocking;
mod client;
mod server;

const VICTIM: &str = "CREATE SCHEMA victims AUTHORIZATION victim; CREATE TABLE victims.secrets (value int);
ALTER TABLE victims.secrets OWNER TO victim; INSERT INTO victims.secrets VALUES (100); GRANT CREATE ON SCHEMA public TO app;
GRANT USAGE ON SCHEMA victims TO PUBLIC";

/// The application owns the databases that the manager connects to, and has planted attacks in them.
fn plant(server: &RealServer) {
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; CREATE ROLE victim; CREATE ROLE archiver LOGIN");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    for (number, database) in ["postgres", "template1"].iter().enumerate() {
        server.sql(database, VICTIM);
        server.sql(database, &format!("ALTER DATABASE {database} OWNER TO app"));
        let strike = STRIKE.replace("boss", "postgres").replace("$NUMBER", &number.to_string());
        let strike = strike.replace("$MARKER", &server.text("marker"));
        let quiet = "SET client_min_messages = error";
        for sql in [&strike, TWINS, &settings(database)] {
            server.sql_as("app", "app", database, &format!("{quiet}; {sql}"));
        }
    }
}

fn assert_nothing_gained(server: &RealServer) {
    assert!(!server.path("marker").exists(), "a program was run, or a file written");
    let roles = "SELECT pg_catalog.string_agg(rolname || CASE WHEN rolsuper OR rolcreaterole THEN '!' ELSE '' END, ' ' \
                 ORDER BY rolname) FROM pg_catalog.pg_roles WHERE rolname !~ '^pg_'";
    assert_eq!(server.sql("app", roles), "app archiver postgres! victim");
    let members = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles r \
                   ON r.oid = m.member WHERE r.rolname !~ '^pg_'";
    assert_eq!(server.sql("app", members), "0");
    for database in ["postgres", "template1"] {
        assert_eq!(server.sql(database, "COPY victims.secrets TO STDOUT"), "100");
        let planted = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_proc WHERE pronamespace = \
                       (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'victims')";
        assert_eq!(server.sql(database, planted), "0");
    }
}

fn database() -> SampleDB {
    let spec = json!({ "engine": { "version": "17.12" }, "storage": { "size": "1Gi" } });
    let metadata = json!({ "namespace": "n", "name": "shop", "uid": "u-1", "generation": 1 });
    SampleDB::decode(&json!({ "metadata": metadata, "spec": spec, "status": {} }).to_string()).unwrap()
}

fn access(server: &RealServer, app: &str) -> ServerAccess {
    ServerAccess {
        pod: "p".into(),
        ip: server.host.clone(),
        major: None,
        superuser_password: PASSWORD.into(),
        app_password: Some(app.into()),
    }
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn no_attack_gains_anything_from_the_managers_own_statements() {
    let server = RealServer::start("manager");
    plant(&server);
    let (db, access) = (database(), access(&server, "app"));
    let address = ServerAddress::of(&access);
    assert!(query::ping(&address, &access).await);
    let answer = query::server(&address, &db, &access, true, false).await.unwrap();
    assert_eq!(answer.login, LoginCheck::Ok);
    assert!(answer.version.starts_with(server.major()), "{}", answer.version);
    let databases = server.sql("postgres", "SELECT sum(pg_database_size(oid))::int8 FROM pg_database");
    let wal = answer.bytes - databases.parse::<i64>().unwrap();
    assert!(wal > 15 << 20, "a server has at least one segment of 16 MiB, and {wal} bytes are counted");
    server.write("data/multi_operator_upgrade.json", "{}");
    query::copy_result(&address, &access).await.unwrap();
    let set = [("work_mem".to_owned(), "5MB".to_owned()), ("search_path".to_owned(), "a\\b, public".to_owned())];
    assert_eq!(change::parameters(&address, &access, &set, &["lock_timeout".to_owned()]).await.unwrap(), None);
    let wrong = [("work_mem".to_owned(), "'; SELECT public.strike(); --\\".to_owned())];
    assert!(change::parameters(&address, &access, &wrong, &[]).await.unwrap().is_some());
    // Catalogs are queried by the role's name, which is not quoted: what the role may, apart from its password.
    let other = self::access(&server, "not' it\\");
    let answer = query::server(&ServerAddress::of(&other), &db, &other, false, false).await.unwrap();
    assert_eq!(answer.login, LoginCheck::BadPassword);
    change::password(&address, &access, "app", &"new' \\pass".into()).await.unwrap();
    let access = self::access(&server, "new' \\pass");
    assert_eq!(query::server(&address, &db, &access, false, false).await.unwrap().login, LoginCheck::Ok);
    let mut remaining = change::block_clients(&address, &access).await.unwrap();
    change::end_others(&address, &access, &mut remaining).await.unwrap();
    assert_eq!(query::server(&address, &db, &access, false, false).await.unwrap().login, LoginCheck::Blocked);
    change::allow_clients(&address, &access).await.unwrap();
    assert_eq!(query::server(&address, &db, &access, true, false).await.unwrap().login, LoginCheck::Ok);
    assert_nothing_gained(&server);
}

/// The server's message distinguishes the reasons: a connection limit is transient, a dropped database is not.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn why_an_application_cannot_log_in() {
    let server = RealServer::start("manager-reasons");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app' CONNECTION LIMIT 1");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    let (db, access) = (database(), access(&server, "app"));
    let address = ServerAddress::of(&access);
    let login = async || query::server(&address, &db, &access, false, false).await.unwrap().login;
    assert_eq!(login().await, LoginCheck::Ok);
    let pool = address.connect("app", "app", "app").await.unwrap();
    assert_eq!(login().await, LoginCheck::Busy);
    drop(pool);
    for (sql, part) in [
        ("ALTER ROLE app CONNECTION LIMIT 0", "CONNECTION LIMIT"),
        ("ALTER ROLE app CONNECTION LIMIT -1 VALID UNTIL '2001-01-01'", "VALID UNTIL"),
        ("ALTER ROLE app VALID UNTIL 'infinity' NOLOGIN", "LOGIN"),
    ] {
        server.sql("postgres", sql);
        let refused = login().await;
        assert!(matches!(&refused, LoginCheck::Refused(why) if why.contains(part)), "{sql}: {refused:?}");
    }
    server.sql("postgres", "ALTER ROLE app LOGIN");
    server.sql("postgres", "DROP DATABASE app");
    assert_eq!(login().await, LoginCheck::DatabaseMissing);
}

/// A user has inserted a line before the others of `pg_hba.conf`. For a moment after a change of that file, a server may give the
/// same answer.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn rules_that_block_an_application_are_reported_once_they_last() {
    let server = RealServer::start("manager-rules");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    let (db, access) = (database(), access(&server, "app"));
    let address = ServerAddress::of(&access);
    let login = async |again| query::server(&address, &db, &access, false, again).await.unwrap().login;
    assert_eq!(login(true).await, LoginCheck::Ok);
    server.write("data/pg_hba.conf", "host all app all reject\nhost all all all scram-sha-256\n");
    server.sql("postgres", "SELECT pg_catalog.pg_reload_conf()");
    while login(false).await == LoginCheck::Ok {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(login(false).await, LoginCheck::Unknown);
    let refused = login(true).await;
    assert!(matches!(&refused, LoginCheck::Refused(why) if why.contains("pg_hba.conf")), "{refused:?}");
}

/// A superuser has created an event trigger with a function of the application: it runs at the login of every superuser who does
/// not disable event triggers.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn code_of_others_does_not_run_at_the_managers_logins() {
    let server = RealServer::start("manager-logins");
    if server.major() < "17" {
        return;
    }
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'; GRANT CREATE ON SCHEMA public TO app");
    let evil = "CREATE FUNCTION evil() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
                IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN ALTER ROLE app SUPERUSER; END IF; END $$";
    server.sql_as("app", "app", "postgres", evil);
    server.sql("postgres", "CREATE EVENT TRIGGER at_login ON login EXECUTE FUNCTION public.evil()");
    let is_superuser = "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = 'app'";
    for major in [Some(17), None] {
        let access = ServerAccess { major, ..access(&server, "app") };
        let address = ServerAddress::of(&access);
        assert!(query::ping(&address, &access).await);
        query::server(&address, &database(), &access, true, false).await.unwrap();
        assert_eq!(server.sql("template1", is_superuser), "f");
    }
    // A server that is taken for an older version does not get the option, which such a version does not know.
    let access = ServerAccess { major: Some(15), ..access(&server, "app") };
    query::server(&ServerAddress::of(&access), &database(), &access, true, false).await.unwrap();
    assert_eq!(server.sql("template1", is_superuser), "t", "the trigger runs where nothing keeps it from that");
}

/// Without the database `postgres`, the manager connects to another one.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn no_attack_gains_anything_in_template1_either() {
    let server = RealServer::start("manager-instead");
    plant(&server);
    server.sql("app", "ALTER DATABASE postgres ALLOW_CONNECTIONS false");
    let access = access(&server, "app");
    let address = ServerAddress::of(&access);
    let answer = query::server(&address, &database(), &access, true, false).await.unwrap();
    assert_eq!(answer.login, LoginCheck::Ok);
    change::password(&address, &access, "app", &"app".into()).await.unwrap();
    let mut remaining = change::block_clients(&address, &access).await.unwrap();
    change::end_others(&address, &access, &mut remaining).await.unwrap();
    change::allow_clients(&address, &access).await.unwrap();
    server.sql("app", "ALTER DATABASE postgres ALLOW_CONNECTIONS true");
    assert_nothing_gained(&server);
}

/// The server of another release may know a parameter that this one does not.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn parameters_that_one_server_rejected_are_set_in_the_next_one() {
    let server = RealServer::start("manager-refused");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    let (mut db, access) = (database(), access(&server, "app"));
    db.spec.engine.parameters = [("no_such_parameter".to_owned(), "on".to_owned())].into();
    let servers = Servers::default();
    let set = [("no_such_parameter".to_owned(), "on".to_owned())];
    servers.set_parameters(&db, &access, &set, &[]).await.unwrap();
    let refused = async |access: &ServerAccess| {
        servers.forget(&db.meta.key);
        servers.query(&db, access).await.info().unwrap().parameters.refused.clone()
    };
    assert!(refused(&access).await.is_some_and(|why| why.contains("no_such_parameter")));
    assert_eq!(refused(&ServerAccess { pod: "q".into(), ..access.clone() }).await, None);
}

#[test]
fn a_rejection_is_of_one_pod_and_of_these_parameters() {
    let mut db = database();
    let of = |pod: &str| ServerAccess {
        pod: pod.into(),
        ip: String::new(),
        major: None,
        superuser_password: "s".into(),
        app_password: None,
    };
    let refused = RejectedParameters { pod: "p".into(), values: BTreeMap::new(), why: String::new() };
    assert!(refused.holds(&db, &of("p")) && !refused.holds(&db, &of("q")));
    db.spec.engine.parameters = [("work_mem".to_owned(), "8MB".to_owned())].into();
    assert!(!refused.holds(&db, &of("p")));
}
