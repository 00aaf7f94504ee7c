use runtime::cache::Projection as _;
use sample_db::database::LoginCheck;
use sample_db::{ConnectError, PostgresClient as _, SampleDB, ServerAccess};
use serde_json::json;
use std::collections::BTreeMap;

use super::*;
use crate::random::Random;

fn database(parameters: serde_json::Value) -> SampleDB {
    let spec = json!({ "engine": { "version": "17.12", "parameters": parameters }, "storage": { "size": "1Gi" } });
    let metadata = json!({ "namespace": "n", "name": "shop", "uid": "u-1", "generation": 1 });
    SampleDB::decode(&json!({ "metadata": metadata, "spec": spec }).to_string()).unwrap()
}

fn access(superuser: &str, app: Option<&str>) -> ServerAccess {
    ServerAccess {
        pod: "p".to_owned(),
        ip: String::new(),
        major: Some(17),
        superuser_password: superuser.into(),
        app_password: app.map(Into::into),
    }
}

fn server() -> PostgresServer {
    PostgresServer { volume: "v".to_owned(), version: "17.12".to_owned(), mounted: BTreeMap::new() }
}

/// A server with an application.
fn running() -> PostgresServers {
    let servers = PostgresServers::new(Random::new(1));
    servers.initialize("v", "s");
    servers.edit("v", |data| data.app_password = Some("a".to_owned()));
    assert!(servers.start("p", server()));
    servers
}

#[tokio::test(start_paused = true)]
async fn a_server_runs_on_the_data_of_its_volume_alone() {
    let servers = PostgresServers::new(Random::new(1));
    assert!(!servers.start("p", server()), "there is no data");
    let data = servers.initialize("v", "s");
    assert_eq!(servers.initialize("v", "other"), data);
    assert_ne!(servers.initialize("w", "s").system_identifier, data.system_identifier);
    assert!(servers.start("p", server()) && !servers.start("q", server()));
    servers.stop("p");
    assert!(servers.start("q", server()));
    servers.lose("v");
    assert_eq!(servers.data("v"), None);
    let gone = ServerAccess { pod: "q".to_owned(), ..access("s", None) };
    assert!(!servers.ping(&gone).await);
}

#[tokio::test(start_paused = true)]
async fn passwords_are_checked() {
    let (servers, db) = (running(), database(json!({})));
    let login = async |app: Option<&str>| servers.info(&db, &access("s", app), false, false).await.unwrap().login;
    assert_eq!(login(Some("a")).await, LoginCheck::Ok);
    assert_eq!(login(Some("b")).await, LoginCheck::BadPassword);
    servers.set_password(&access("s", None), "app", &"b".into()).await.unwrap();
    assert_eq!(login(Some("b")).await, LoginCheck::Ok);
    let refused = servers.info(&db, &access("wrong", None), false, false).await;
    assert!(matches!(refused, Err(ConnectError::BadPassword)));
    assert!(servers.ping(&access("wrong", None)).await, "it answers");
}

#[tokio::test(start_paused = true)]
async fn parameters_are_set_and_some_wait_for_a_restart() {
    let (servers, db) = (running(), database(json!({ "work_mem": "8MB", "max_connections": "50" })));
    let access = access("s", Some("a"));
    let diff = async || servers.info(&db, &access, false, false).await.unwrap().parameters;
    let wanted = diff().await.set;
    assert!(wanted.contains(&("work_mem".to_owned(), "8MB".to_owned())));
    assert_eq!(servers.set_parameters(&access, &wanted, &[]).await.unwrap(), None);
    let after = diff().await;
    assert_eq!((after.is_settled(), after.restart), (true, vec!["max_connections".to_owned()]));
    servers.start("p", server());
    assert_eq!(diff().await.restart, Vec::<String>::new());
    let wrong = [("work_mem".to_owned(), "wrong".to_owned())];
    assert!(servers.set_parameters(&access, &wrong, &[]).await.unwrap().is_some());
    servers.mount("p", [("work_mem".to_owned(), "8MB".to_owned())].into());
    servers.set_parameters(&access, &[], &["work_mem".to_owned()]).await.unwrap();
    assert!(diff().await.is_settled());
}

#[tokio::test(start_paused = true)]
async fn clients_are_blocked_and_allowed() {
    let (servers, db, access) = (running(), database(json!({})), access("s", Some("a")));
    let mut remaining = servers.block_clients(&access).await.unwrap();
    assert_eq!(remaining.pod, "p");
    servers.end_others(&access, &mut remaining).await.unwrap();
    assert!(servers.is_blocking(&access).await);
    let blocked = servers.info(&db, &access, false, false).await.unwrap();
    assert_eq!((blocked.login, blocked.parameters.reset), (LoginCheck::Blocked, Vec::new()));
    servers.allow_clients(&access).await.unwrap();
    assert!(!servers.is_blocking(&access).await);
    assert_eq!(servers.data("v").unwrap().settings, BTreeMap::new());
}
