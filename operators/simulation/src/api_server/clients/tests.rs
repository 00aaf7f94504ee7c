use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::*;
use crate::api_server::fate::Rates;
use crate::api_server::service::testing::{config, create, server};

fn client(server: &SimulatedApiServer) -> Client {
    server.client("manager-0", &Outages::default())
}

fn configs(server: &SimulatedApiServer) -> Api<ConfigMap> {
    Api::namespaced(client(server), "n")
}

fn stored(server: &SimulatedApiServer, name: &str) -> Option<Value> {
    server.read(|state| state.get(state.kinds().plural("configmaps")?, "n", name).map(|found| (**found).clone()))
}

fn of(name: &str) -> ConfigMap {
    serde_json::from_value(config(name, "x", "1")).unwrap()
}

fn with(rates: Rates) -> SimulatedApiServer {
    let server = server();
    server.faults(|faults| faults.rates = rates);
    server
}

#[tokio::test(start_paused = true)]
async fn kube_reads_what_it_has_written_and_understands_refusals() {
    let server = server();
    let configs = configs(&server);
    let begun = Instant::now();
    configs.create(&PostParams::default(), &of("a")).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(2), "a request takes time");
    assert_eq!(configs.get("a").await.unwrap().data.unwrap()["k"], "1");
    assert_eq!(configs.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let patch = Patch::Merge(json!({ "data": { "k": "2" } }));
    let patched = configs.patch_metadata("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.metadata.name.as_deref(), Some("a"));
    assert_eq!(stored(&server, "a").unwrap()["data"]["k"], "2");
    let kube::Error::Api(status) = configs.create(&PostParams::default(), &of("a")).await.unwrap_err() else {
        panic!("no status")
    };
    assert_eq!((status.code, &*status.reason), (409, "AlreadyExists"));
    assert_eq!(configs.get_opt("b").await.unwrap(), None);
    assert_eq!(server.requests(), 6);
    let unmodelled = server.read(|state| state.unmodelled().to_vec());
    assert!(unmodelled.is_empty(), "{unmodelled:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_model_lacks_is_refused_and_noted() {
    let server = server();
    let request = || Request::get("/api/v1/namespaces/n/pods/a/log?container=c").body(Vec::new()).unwrap();
    for _ in 0..2 {
        let kube::Error::Api(status) = client(&server).request_text(request()).await.unwrap_err() else {
            panic!("no status")
        };
        assert_eq!(status.code, 501);
    }
    let noted = server.read(|state| state.unmodelled().to_vec());
    assert_eq!(noted.len(), 1, "{noted:?}");
    assert!(noted.iter().all(|noted| noted.contains("GET /api/v1/namespaces/n/pods/a/log?container=c")), "{noted:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_is_answered_and_stores_nothing() {
    let server = server();
    let dry_run = PostParams { dry_run: true, field_manager: None };
    assert_eq!(configs(&server).create(&dry_run, &of("a")).await.unwrap().data.unwrap()["k"], "1");
    assert_eq!(stored(&server, "a"), None);
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_takes_no_effect_and_one_with_a_lost_answer_does() {
    for (rates, takes_effect) in
        [(Rates { request_lost: 1000, ..Rates::NONE }, false), (Rates { answer_lost: 1000, ..Rates::NONE }, true)]
    {
        let server = with(rates);
        let error = configs(&server).create(&PostParams::default(), &of("a")).await.unwrap_err();
        assert!(!matches!(error, kube::Error::Api(_)), "{error}");
        assert_eq!(stored(&server, "a").is_some(), takes_effect);
    }
}

#[tokio::test(start_paused = true)]
async fn a_duplicated_creation_finds_its_own_object() {
    let server = with(Rates { duplicated: 1000, ..Rates::NONE });
    let error = configs(&server).create(&PostParams::default(), &of("a")).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.reason == "AlreadyExists"), "{error}");
    assert!(stored(&server, "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_late_request_takes_effect_although_its_client_is_gone() {
    let server = with(Rates { late: 1000, ..Rates::NONE });
    let configs = configs(&server);
    let (parameters, a) = (PostParams::default(), of("a"));
    let created = tokio::time::timeout(Duration::from_millis(100), configs.create(&parameters, &a));
    assert!(created.await.is_err());
    assert_eq!(stored(&server, "a"), None);
    sleep(Duration::from_secs(60)).await;
    assert!(stored(&server, "a").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_gets_a_status() {
    let server = with(Rates { refused: 1000, ..Rates::NONE });
    let configs = configs(&server);
    let mut codes = Vec::new();
    for _ in 0..50 {
        let patch = Patch::Merge(json!({ "data": {} }));
        match configs.patch("a", &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) => codes.push(status.code),
            other => panic!("{other:?}"),
        }
    }
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes, [409, 429, 500, 503]);
}

#[tokio::test(start_paused = true)]
async fn a_silent_request_ends_when_the_client_gives_up() {
    let server = with(Rates { silent: 1000, ..Rates::NONE });
    let begun = Instant::now();
    assert!(configs(&server).get("a").await.is_err());
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends() {
    let server = server();
    create(&server, config("a", "x", "1"));
    server.faults(|faults| faults.away_until = Some(Instant::now() + Duration::from_secs(10)));
    let configs = configs(&server);
    assert!(configs.get("a").await.is_err());
    sleep(Duration::from_secs(10)).await;
    configs.get("a").await.unwrap();
}
