//! Clients are blocked: no session writes afterward, and clients that were connecting are waited for.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::*;

/// Starts a login, and does not answer the server's request for the password.
fn start_login(host: &str, role: &str) -> TcpStream {
    let mut stream = TcpStream::connect((host, 5432)).unwrap();
    let packet = format!("\0\x03\0\0user\0{role}\0database\0app\0\0");
    let length = u32::try_from(packet.len() + 4).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], packet.as_bytes()].concat()).unwrap();
    assert_eq!(stream.read(&mut [0; 64]).unwrap().min(1), 1);
    stream
}

/// A client that began to connect before clients were blocked is admitted by the old rules: neither a setting of the database
/// that the manager connects to, nor a name that looks like a process of the server hides it.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_starting_backend_is_waited_for_whatever_its_name() {
    let server = RealServer::start("manager-door");
    plant(&server);
    let access = access(&server, "app");
    let address = ServerAddress::of(&access);
    for role in ["app", "archiver"] {
        let stream = start_login(&server.host, role);
        let mut remaining = change::block_clients(&address, &access).await.unwrap();
        let soon = tokio::time::timeout(Duration::from_secs(2), change::end_others(&address, &access, &mut remaining));
        assert!(soon.await.is_err(), "{role} was not waited for");
        drop(stream);
        change::end_others(&address, &access, &mut remaining).await.unwrap();
        change::allow_clients(&address, &access).await.unwrap();
        while change::is_blocking(&address).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The worker has no session, and runs as long as the server.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_worker_of_an_extension_is_not_waited_for() {
    let server = RealServer::start_with("manager-worker", "shared_preload_libraries = 'pg_prewarm'\n");
    plant(&server);
    let access = access(&server, "app");
    let address = ServerAddress::of(&access);
    let mut remaining = change::block_clients(&address, &access).await.unwrap();
    change::end_others(&address, &access, &mut remaining).await.unwrap();
}

/// The rules allow superusers: what they write after the final snapshot would be in no snapshot.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn superusers_do_not_write_while_clients_are_blocked() {
    let server = RealServer::start("manager-read-only");
    server.sql("postgres", "CREATE ROLE app LOGIN PASSWORD 'app'");
    server.sql("postgres", "CREATE DATABASE app OWNER app TEMPLATE template0");
    server.sql("app", "CREATE TABLE public.t (a int)");
    let (db, access) = (database(), access(&server, "app"));
    let address = ServerAddress::of(&access);
    let write = || server.plain("app", "INSERT INTO public.t VALUES (1)");
    let left = "default_transaction_read_only".to_owned();
    assert_eq!(write(), Ok(String::new()));
    for _ in 0..2 {
        let mut remaining = change::block_clients(&address, &access).await.unwrap();
        change::end_others(&address, &access, &mut remaining).await.unwrap();
        let refused = write().unwrap_err();
        assert!(refused.contains("cannot execute INSERT in a read-only transaction"), "{refused}");
        // The operator itself writes where it has to, and does not reset the setting as one of the spec's parameters.
        change::password(&address, &access, "app", &"app".into()).await.unwrap();
        let answer = query::server(&address, &db, &access, true, false).await.unwrap();
        assert_eq!((answer.login, answer.parameters.reset.contains(&left)), (LoginCheck::Blocked, false));
    }
    change::allow_clients(&address, &access).await.unwrap();
    while change::is_blocking(&address).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(write(), Ok(String::new()));
    assert_eq!(server.plain("app", "SHOW default_transaction_read_only"), Ok("off".to_owned()));
    // The setting is reset in a server that allows clients because another client changed the rules.
    server.sql("app", "ALTER SYSTEM SET default_transaction_read_only = on");
    let reset = query::server(&address, &db, &access, true, false).await.unwrap().parameters.reset;
    assert!(reset.contains(&left), "{reset:?}");
    assert_eq!(change::parameters(&address, &access, &[], &reset).await.unwrap(), None);
    let since = std::time::Instant::now();
    while write().is_err() {
        assert!(since.elapsed() < Duration::from_secs(10), "it stays read-only");
    }
}
