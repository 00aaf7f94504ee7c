//! Secrets that several databases name.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::client::Body;
use runtime::cache::Projection;
use serde_json::{Value, json};

use super::Secrets;
use crate::database::objects::secret::{SecretRole, secret};
use crate::database::observed::SecretState;
use crate::live_api::LiveApi;
use crate::operand::kinds::SampleDB;

/// Methods and bodies of requests.
type Requests = Arc<Mutex<Vec<(Method, Value)>>>;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// Reads Secrets of a database.
struct Reader {
    secrets: Secrets,
    api: LiveApi,
}

impl Reader {
    async fn state(&self, db: &SampleDB, of: SecretRole) -> SecretState {
        self.secrets.read(&self.api, db, of, NOW).await.state
    }
}

/// An API server with one Secret, which records its requests.
fn serving(secret: &Secret) -> (Reader, Requests) {
    let (requests, answer) = (Arc::new(Mutex::new(Vec::new())), serde_json::to_vec(secret).unwrap());
    let recorded = requests.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (recorded, answer) = (recorded.clone(), answer.clone());
        async move {
            let method = request.method().clone();
            let body = request.into_body().collect_bytes().await.unwrap();
            recorded.lock().unwrap().push((method, serde_json::from_slice(&body).unwrap_or_default()));
            Ok::<_, std::convert::Infallible>(Response::new(Body::from(answer)))
        }
    });
    (Reader { secrets: Secrets::default(), api: LiveApi::new(Client::new(service, "n")) }, requests)
}

fn database(name: &str, spec: &Value) -> SampleDB {
    let metadata = json!({ "namespace": "n", "name": name, "uid": format!("u-{name}"), "generation": 1 });
    SampleDB::decode(&json!({ "metadata": metadata, "spec": spec, "status": {} }).to_string()).unwrap()
}

/// The Secret of a database's application, after a user edited the password.
fn edited(db: &SampleDB) -> Secret {
    let mut created = secret(db, SecretRole::App, "old");
    let entries = created.string_data.take().unwrap();
    let mut data: std::collections::BTreeMap<_, _> =
        entries.into_iter().map(|(name, value)| (name, ByteString(value.into_bytes()))).collect();
    data.insert("password".to_owned(), ByteString(b"new".to_vec()));
    created.data = Some(data);
    created
}

#[tokio::test]
async fn each_database_validates_a_secret_for_itself() {
    let shop = database("shop", &json!({}));
    let named = json!({ "secretRef": { "name": "shop-app" } });
    let copy = database("copy", &json!({ "credentials": named }));
    let other = database("other", &json!({ "credentials": named, "bootstrap": { "database": "orders" } }));
    let (reader, requests) = serving(&edited(&shop));
    for _ in 0..2 {
        assert_eq!(reader.state(&shop, SecretRole::App).await, SecretState::Outdated, "its URI has the old password");
        assert_eq!(reader.state(&copy, SecretRole::App).await, SecretState::Usable, "its URI is not checked");
        let state = reader.state(&other, SecretRole::App).await;
        assert!(matches!(&state, SecretState::Malformed(why) if why.contains("orders")), "{state:?}");
    }
    assert_eq!(requests.lock().unwrap().len(), 4, "a usable Secret is not read again at once");
}

#[tokio::test]
async fn a_cached_secret_is_not_used_for_another_name_or_uid() {
    let shop = database("shop", &json!({}));
    let (reader, requests) = serving(&edited(&shop));
    assert_eq!(reader.state(&shop, SecretRole::App).await, SecretState::Outdated);
    let given = database("shop", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    assert_eq!(reader.state(&given, SecretRole::App).await, SecretState::Usable);
    let elsewhere = database("shop", &json!({ "credentials": { "secretRef": { "name": "mine" } } }));
    drop(reader.state(&elsewhere, SecretRole::App).await);
    let mut recreated = shop;
    recreated.meta.uid = "u-2".into();
    assert_eq!(reader.state(&recreated, SecretRole::App).await, SecretState::Foreign);
    assert_eq!(requests.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_secret_that_the_spec_names_is_not_written_to() {
    let shop = database("shop", &json!({}));
    let copy = database("copy", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    let (reader, requests) = serving(&edited(&shop));
    reader.secrets.update(&reader.api.client, &copy, SecretRole::App).await.unwrap();
    assert_eq!(requests.lock().unwrap().len(), 0);
    reader.secrets.update(&reader.api.client, &shop, SecretRole::App).await.unwrap();
    let (method, body) = requests.lock().unwrap().pop().unwrap();
    assert_eq!((method, &body["stringData"]["host"]), (Method::PATCH, &json!("shop-rw.n.svc")));
}

/// They belong to a volume that is kept.
#[tokio::test]
async fn secrets_of_a_volume_to_adopt_are_not_deleted_before_it_is_adopted() {
    let terminating = |status: Value| {
        let metadata = json!({ "namespace": "n", "name": "shop", "uid": "u-2", "generation": 1,
            "annotations": { api::sample_db::ADOPT: "u-shop" }, "deletionTimestamp": "2026-01-01T00:00:00Z" });
        SampleDB::decode(&json!({ "metadata": metadata, "spec": {}, "status": status }).to_string()).unwrap()
    };
    let (reader, requests) = serving(&edited(&database("shop", &json!({}))));
    let deleted = || requests.lock().unwrap().iter().any(|(method, _)| *method == Method::DELETE);
    let before = terminating(json!({}));
    assert_eq!(reader.state(&before, SecretRole::App).await, SecretState::Foreign);
    reader.secrets.delete(&reader.api.client, &before, SecretRole::App).await.unwrap();
    assert!(!deleted());
    let adopting = json!({ "initialization": { "dataCreatedAt": "2026-01-01T00:00:00Z" } });
    reader.secrets.delete(&reader.api.client, &terminating(adopting.clone()), SecretRole::App).await.unwrap();
    assert!(!deleted(), "it is named for other data, and stays");
    let mut adopted = adopting;
    adopted["storage"] = json!({ "adoptedFrom": ["u-shop"] });
    reader.secrets.delete(&reader.api.client, &terminating(adopted), SecretRole::App).await.unwrap();
    assert!(deleted(), "adopted Secrets are deleted with their volume");
}

#[tokio::test]
async fn a_password_that_is_prepared_differently_is_refused_and_not_reported() {
    let password = "pa\u{340}ss";
    let copy = database("copy", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    let mut secret = edited(&database("shop", &json!({})));
    secret.data.as_mut().unwrap().insert("password".to_owned(), ByteString(password.into()));
    let (reader, _) = serving(&secret);
    let state = reader.state(&copy, SecretRole::App).await;
    let SecretState::Malformed(why) = &state else { panic!("{state:?}") };
    assert!(why.contains("SASLprep") && !why.contains(password), "{why}");
    let mut configured = copy;
    configured.status.initialization.completed_at = Some(NOW);
    let state = reader.state(&configured, SecretRole::App).await;
    assert_eq!(state, SecretState::Usable, "an earlier manager may have set it");
}
