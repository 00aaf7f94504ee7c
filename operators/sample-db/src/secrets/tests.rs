//! One Secret that several databases name.

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
use crate::database::objects::secret::{SecretOf, secret};
use crate::database::observed::SecretSeen;
use crate::live_api::LiveApi;
use crate::operand::kinds::SampleDB;

/// Methods and bodies of requests.
type Asked = Arc<Mutex<Vec<(Method, Value)>>>;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// Reads Secrets of a database.
struct Reader {
    secrets: Secrets,
    api: LiveApi,
}

impl Reader {
    async fn seen(&self, db: &SampleDB, of: SecretOf) -> SecretSeen {
        self.secrets.read(&self.api, db, of, NOW).await.seen
    }
}

/// An API server with one Secret, which tells what it was asked.
fn serving(secret: &Secret) -> (Reader, Asked) {
    let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), serde_json::to_vec(secret).unwrap());
    let heard = asked.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (heard, answer) = (heard.clone(), answer.clone());
        async move {
            let method = request.method().clone();
            let body = request.into_body().collect_bytes().await.unwrap();
            heard.lock().unwrap().push((method, serde_json::from_slice(&body).unwrap_or_default()));
            Ok::<_, std::convert::Infallible>(Response::new(Body::from(answer)))
        }
    });
    (Reader { secrets: Secrets::default(), api: LiveApi::new(Client::new(service, "n")) }, asked)
}

fn database(name: &str, spec: &Value) -> SampleDB {
    let metadata = json!({ "namespace": "n", "name": name, "uid": format!("u-{name}"), "generation": 1 });
    SampleDB::decode(&json!({ "metadata": metadata, "spec": spec, "status": {} }).to_string()).unwrap()
}

/// The Secret of a database's application, in which a person has edited the password.
fn edited(db: &SampleDB) -> Secret {
    let mut made = secret(db, SecretOf::App, "old");
    let entries = made.string_data.take().unwrap();
    let mut data: std::collections::BTreeMap<_, _> =
        entries.into_iter().map(|(name, value)| (name, ByteString(value.into_bytes()))).collect();
    data.insert("password".to_owned(), ByteString(b"new".to_vec()));
    made.data = Some(data);
    made
}

#[tokio::test]
async fn each_database_judges_a_secret_for_itself() {
    let shop = database("shop", &json!({}));
    let named = json!({ "secretRef": { "name": "shop-app" } });
    let copy = database("copy", &json!({ "credentials": named }));
    let other = database("other", &json!({ "credentials": named, "bootstrap": { "database": "orders" } }));
    let (reader, asked) = serving(&edited(&shop));
    for _ in 0..2 {
        assert_eq!(reader.seen(&shop, SecretOf::App).await, SecretSeen::Outdated, "its URI has the old password");
        assert_eq!(reader.seen(&copy, SecretOf::App).await, SecretSeen::Usable, "a URI is not looked at there");
        let seen = reader.seen(&other, SecretOf::App).await;
        assert!(matches!(&seen, SecretSeen::Malformed(why) if why.contains("orders")), "{seen:?}");
    }
    assert_eq!(asked.lock().unwrap().len(), 4, "what can be used is not read again at once");
}

#[tokio::test]
async fn what_is_remembered_of_a_secret_is_not_taken_for_what_is_known_of_another() {
    let shop = database("shop", &json!({}));
    let (reader, asked) = serving(&edited(&shop));
    assert_eq!(reader.seen(&shop, SecretOf::App).await, SecretSeen::Outdated);
    let given = database("shop", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    assert_eq!(reader.seen(&given, SecretOf::App).await, SecretSeen::Usable);
    let elsewhere = database("shop", &json!({ "credentials": { "secretRef": { "name": "mine" } } }));
    drop(reader.seen(&elsewhere, SecretOf::App).await);
    let mut anew = shop;
    anew.meta.uid = "u-2".into();
    assert_eq!(reader.seen(&anew, SecretOf::App).await, SecretSeen::Foreign);
    assert_eq!(asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_secret_that_the_spec_names_is_not_written_to() {
    let shop = database("shop", &json!({}));
    let copy = database("copy", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    let (reader, asked) = serving(&edited(&shop));
    reader.secrets.rewrite(&reader.api.client, &copy, SecretOf::App).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 0);
    reader.secrets.rewrite(&reader.api.client, &shop, SecretOf::App).await.unwrap();
    let (method, body) = asked.lock().unwrap().pop().unwrap();
    assert_eq!((method, &body["stringData"]["host"]), (Method::PATCH, &json!("shop-rw.n.svc")));
}

/// They are those of a volume that stays.
#[tokio::test]
async fn the_secrets_of_what_was_to_be_taken_over_are_not_deleted_before_it_was() {
    let going = |status: Value| {
        let metadata = json!({ "namespace": "n", "name": "shop", "uid": "u-2", "generation": 1,
            "annotations": { api::sample_db::ADOPT: "u-shop" }, "deletionTimestamp": "2026-01-01T00:00:00Z" });
        SampleDB::decode(&json!({ "metadata": metadata, "spec": {}, "status": status }).to_string()).unwrap()
    };
    let (reader, asked) = serving(&edited(&database("shop", &json!({}))));
    let deleted = || asked.lock().unwrap().iter().any(|(method, _)| *method == Method::DELETE);
    let before = going(json!({}));
    assert_eq!(reader.seen(&before, SecretOf::App).await, SecretSeen::Foreign);
    reader.secrets.drop(&reader.api.client, &before, SecretOf::App).await.unwrap();
    assert!(!deleted());
    let beside = json!({ "initialization": { "dataCreatedAt": "2026-01-01T00:00:00Z" } });
    reader.secrets.drop(&reader.api.client, &going(beside.clone()), SecretOf::App).await.unwrap();
    assert!(!deleted(), "it was named beside other data, and stays where it is");
    let mut taken_over = beside;
    taken_over["storage"] = json!({ "adoptedFrom": ["u-shop"] });
    reader.secrets.drop(&reader.api.client, &going(taken_over), SecretOf::App).await.unwrap();
    assert!(deleted(), "what was taken over goes with its volume");
}
