//! What the manager asks and changes as a superuser, of a real server whose owner of databases is an attacker.
//! `scripts/test --all servers` has the trees of PostgreSQL's images. By hand, as root:
//! `PG_TREES=<the folder that it prints> PG_TREE=15 cargo test -p sample-db --lib -- --ignored`

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use real_postgres::attacker::{STRIKE, TWINS, settings};
use runtime::cache::Projection;
use serde_json::json;

use super::connect::Address;
use super::{RejectedParameters, Servers, ask, change};
use crate::database::login::Login;
use crate::operand::kinds::SampleDB;
use crate::queries::{Access, ServerQueries};
use server::{PASSWORD, RealServer};

mod server;

const VICTIM: &str = "CREATE SCHEMA victims AUTHORIZATION victim; CREATE TABLE victims.secrets (value int);
ALTER TABLE victims.secrets OWNER TO victim; INSERT INTO victims.secrets VALUES (100); GRANT CREATE ON SCHEMA public TO app;
GRANT USAGE ON SCHEMA victims TO PUBLIC";

/// The application owns the databases that the manager enters, and has planted in them what it can.
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

fn nothing_gained(server: &RealServer) {
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

fn access(server: &RealServer, app: &str) -> Access {
    Access { pod: "p".into(), ip: server.host.clone(), major: None, system: PASSWORD.into(), app: Some(app.into()) }
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn no_attack_gains_anything_from_the_managers_own_statements() {
    let server = RealServer::start("manager");
    plant(&server);
    let (db, access) = (database(), access(&server, "app"));
    let address = Address::of(&access);
    assert!(ask::knock(&address, &access).await);
    let answer = ask::server(&address, &db, &access, true, false).await.unwrap();
    assert_eq!(answer.login, Login::In);
    assert!(answer.version.starts_with(server.major()), "{}", answer.version);
    let databases = server.sql("postgres", "SELECT sum(pg_database_size(oid))::int8 FROM pg_database");
    let wal = answer.bytes - databases.parse::<i64>().unwrap();
    assert!(wal > 15 << 20, "a server has at least one segment of 16 MiB, and {wal} bytes are counted");
    server.write("data/multi_operator_upgrade.json", "{}");
    ask::copied(&address, &access).await.unwrap();
    let set = [("work_mem".to_owned(), "5MB".to_owned()), ("search_path".to_owned(), "a\\b, public".to_owned())];
    assert_eq!(change::parameters(&address, &access, &set, &["lock_timeout".to_owned()]).await.unwrap(), None);
    let wrong = [("work_mem".to_owned(), "'; SELECT public.strike(); --\\".to_owned())];
    assert!(change::parameters(&address, &access, &wrong, &[]).await.unwrap().is_some());
    // What the application's role may, its password apart: catalogs are asked for that, of a name that is not quoted.
    let other = self::access(&server, "not' it\\");
    let answer = ask::server(&Address::of(&other), &db, &other, false, false).await.unwrap();
    assert_eq!(answer.login, Login::WrongPassword);
    change::password(&address, &access, "app", &"new' \\pass".into()).await.unwrap();
    let access = self::access(&server, "new' \\pass");
    assert_eq!(ask::server(&address, &db, &access, false, false).await.unwrap().login, Login::In);
    let mut leaving = change::shut(&address, &access).await.unwrap();
    change::end_others(&address, &access, &mut leaving).await.unwrap();
    assert_eq!(ask::server(&address, &db, &access, false, false).await.unwrap().login, Login::ShutOut);
    change::let_in(&address, &access).await.unwrap();
    assert_eq!(ask::server(&address, &db, &access, true, false).await.unwrap().login, Login::In);
    nothing_gained(&server);
}

/// Each is told apart by what the server says: a pool at its limit is passing, a database that is gone is not.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn why_an_application_does_not_get_in() {
    let server = RealServer::start("manager-reasons");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app' CONNECTION LIMIT 1");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    let (db, access) = (database(), access(&server, "app"));
    let address = Address::of(&access);
    let login = async || ask::server(&address, &db, &access, false, false).await.unwrap().login;
    assert_eq!(login().await, Login::In);
    let pool = address.connect("app", "app", "app").await.unwrap();
    assert_eq!(login().await, Login::Busy);
    drop(pool);
    for (sql, told) in [
        ("ALTER ROLE app CONNECTION LIMIT 0", "CONNECTION LIMIT"),
        ("ALTER ROLE app CONNECTION LIMIT -1 VALID UNTIL '2001-01-01'", "VALID UNTIL"),
        ("ALTER ROLE app VALID UNTIL 'infinity' NOLOGIN", "LOGIN"),
    ] {
        server.sql("postgres", sql);
        let refused = login().await;
        assert!(matches!(&refused, Login::Refused(why) if why.contains(told)), "{sql}: {refused:?}");
    }
    server.sql("postgres", "ALTER ROLE app LOGIN");
    server.sql("postgres", "DROP DATABASE app");
    assert_eq!(login().await, Login::Gone);
}

/// Somebody has put a line before the others of `pg_hba.conf`. For a moment after a change of that file a server may say the same.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn rules_that_keep_an_application_out_are_told_once_they_last() {
    let server = RealServer::start("manager-rules");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    let (db, access) = (database(), access(&server, "app"));
    let address = Address::of(&access);
    let login = async |again| ask::server(&address, &db, &access, false, again).await.unwrap().login;
    assert_eq!(login(true).await, Login::In);
    server.write("data/pg_hba.conf", "host all app all reject\nhost all all all scram-sha-256\n");
    server.sql("postgres", "SELECT pg_catalog.pg_reload_conf()");
    while login(false).await == Login::In {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(login(false).await, Login::Unknown);
    let told = login(true).await;
    assert!(matches!(&told, Login::Refused(why) if why.contains("pg_hba.conf")), "{told:?}");
}

/// A superuser has made an event trigger of what the application wrote: it runs at the login of every superuser who does not ask for
/// none.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn what_another_wrote_does_not_run_at_the_managers_logins() {
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
        let access = Access { major, ..access(&server, "app") };
        let address = Address::of(&access);
        assert!(ask::knock(&address, &access).await);
        ask::server(&address, &database(), &access, true, false).await.unwrap();
        assert_eq!(server.sql("template1", is_superuser), "f");
    }
    // One that is taken for an older version asks for nothing that such a server would not know.
    let access = Access { major: Some(15), ..access(&server, "app") };
    ask::server(&Address::of(&access), &database(), &access, true, false).await.unwrap();
    assert_eq!(server.sql("template1", is_superuser), "t", "the trigger runs where nothing keeps it from that");
}

/// Without the database that every server has, the manager enters another one.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn nor_in_the_database_that_it_enters_instead() {
    let server = RealServer::start("manager-instead");
    plant(&server);
    server.sql("app", "ALTER DATABASE postgres ALLOW_CONNECTIONS false");
    let access = access(&server, "app");
    let address = Address::of(&access);
    let answer = ask::server(&address, &database(), &access, true, false).await.unwrap();
    assert_eq!(answer.login, Login::In);
    change::password(&address, &access, "app", &"app".into()).await.unwrap();
    let mut leaving = change::shut(&address, &access).await.unwrap();
    change::end_others(&address, &access, &mut leaving).await.unwrap();
    change::let_in(&address, &access).await.unwrap();
    server.sql("app", "ALTER DATABASE postgres ALLOW_CONNECTIONS true");
    nothing_gained(&server);
}

/// Asks for entry, and leaves the server waiting for the password.
fn at_the_door(host: &str, role: &str) -> TcpStream {
    let mut stream = TcpStream::connect((host, 5432)).unwrap();
    let words = format!("\0\x03\0\0user\0{role}\0database\0app\0\0");
    let length = u32::try_from(words.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], words.as_bytes()].concat()).unwrap();
    assert_eq!(stream.read(&mut [0; 64]).unwrap().min(1), 1);
    stream
}

/// Whoever began to connect before the server was shut is judged by the old rules: neither a setting of the database that
/// the manager looks from, nor a name that looks like a process of the server's, hides that.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn who_stands_at_the_door_is_waited_for_whatever_their_name() {
    let server = RealServer::start("manager-door");
    plant(&server);
    let access = access(&server, "app");
    let address = Address::of(&access);
    for role in ["app", "archiver"] {
        let stream = at_the_door(&server.host, role);
        let mut leaving = change::shut(&address, &access).await.unwrap();
        let soon = tokio::time::timeout(Duration::from_secs(2), change::end_others(&address, &access, &mut leaving));
        assert!(soon.await.is_err(), "{role} was not waited for");
        drop(stream);
        change::end_others(&address, &access, &mut leaving).await.unwrap();
        change::let_in(&address, &access).await.unwrap();
        while change::refuses(&address).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Its worker has no session, and stays as long as the server runs.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_worker_of_an_extension_is_no_client_that_is_waited_for() {
    let server = RealServer::start_with("manager-worker", "shared_preload_libraries = 'pg_prewarm'\n");
    plant(&server);
    let access = access(&server, "app");
    let address = Address::of(&access);
    let mut leaving = change::shut(&address, &access).await.unwrap();
    change::end_others(&address, &access, &mut leaving).await.unwrap();
}

/// The rules let superusers in: what they write after the final snapshot would be in none.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn superusers_do_not_write_while_it_is_shut() {
    let server = RealServer::start("manager-read-only");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "CREATE TABLE public.t (a int)");
    let (db, access) = (database(), access(&server, "app"));
    let address = Address::of(&access);
    let write = || server.plain("app", "INSERT INTO public.t VALUES (1)");
    let left = "default_transaction_read_only".to_owned();
    assert_eq!(write(), Ok(String::new()));
    for _ in 0..2 {
        let mut leaving = change::shut(&address, &access).await.unwrap();
        change::end_others(&address, &access, &mut leaving).await.unwrap();
        let refused = write().unwrap_err();
        assert!(refused.contains("cannot execute INSERT in a read-only transaction"), "{refused}");
        // The operator itself writes where it has to, and does not take it back as one of the spec's parameters.
        change::password(&address, &access, "app", &"app".into()).await.unwrap();
        let answer = ask::server(&address, &db, &access, true, false).await.unwrap();
        assert_eq!((answer.login, answer.parameters.reset.contains(&left)), (Login::ShutOut, false));
    }
    change::let_in(&address, &access).await.unwrap();
    while change::refuses(&address).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(write(), Ok(String::new()));
    assert_eq!(server.plain("app", "SHOW default_transaction_read_only"), Ok("off".to_owned()));
    // Left in a server that is open, because somebody else has opened it, it is taken back.
    server.sql("app", "ALTER SYSTEM SET default_transaction_read_only = on");
    let reset = ask::server(&address, &db, &access, true, false).await.unwrap().parameters.reset;
    assert!(reset.contains(&left), "{reset:?}");
    assert_eq!(change::parameters(&address, &access, &[], &reset).await.unwrap(), None);
    let since = std::time::Instant::now();
    while write().is_err() {
        assert!(since.elapsed() < Duration::from_secs(10), "it stays read-only");
    }
}

/// The server of another release may know what this one does not.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn what_one_server_refused_is_asked_of_the_next_one() {
    let server = RealServer::start("manager-refused");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app");
    let (mut db, access) = (database(), access(&server, "app"));
    db.spec.engine.parameters = [("no_such_parameter".to_owned(), "on".to_owned())].into();
    let servers = Servers::default();
    let set = [("no_such_parameter".to_owned(), "on".to_owned())];
    servers.set_parameters(&db, &access, &set, &[]).await.unwrap();
    let refused = async |access: &Access| {
        servers.forget(&db.meta.key);
        servers.ask(&db, access).await.answer().unwrap().parameters.refused.clone()
    };
    assert!(refused(&access).await.is_some_and(|why| why.contains("no_such_parameter")));
    assert_eq!(refused(&Access { pod: "q".into(), ..access.clone() }).await, None);
}

#[test]
fn a_refusal_is_of_one_pod_and_of_these_parameters() {
    let mut db = database();
    let of = |pod: &str| Access { pod: pod.into(), ip: String::new(), major: None, system: "s".into(), app: None };
    let refused = RejectedParameters { pod: "p".into(), values: BTreeMap::new(), why: String::new() };
    assert!(refused.holds(&db, &of("p")) && !refused.holds(&db, &of("q")));
    db.spec.engine.parameters = [("work_mem".to_owned(), "8MB".to_owned())].into();
    assert!(!refused.holds(&db, &of("p")));
}
