//! One Secret that several databases name.

use http::{Method, Request, Response};
use k8s_openapi::ByteString;
use kube::client::Body;
use runtime::cache::View;
use serde_json::Value;

use super::*;

/// Methods and bodies of requests.
type Asked = Arc<Mutex<Vec<(Method, Value)>>>;

/// An API server with one Secret, which tells what it was asked.
fn serving(secret: &Secret) -> (Secrets, Asked) {
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
    (Secrets::new(Client::new(service, "n")), asked)
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
    let (secrets, asked) = serving(&edited(&shop));
    for _ in 0..2 {
        assert_eq!(secrets.look(&shop, SecretOf::App).await.seen, SecretSeen::Outdated, "its URI has the old password");
        assert_eq!(secrets.look(&copy, SecretOf::App).await.seen, SecretSeen::Usable, "a URI is not looked at there");
        let seen = secrets.look(&other, SecretOf::App).await.seen;
        assert!(matches!(&seen, SecretSeen::Malformed(why) if why.contains("orders")), "{seen:?}");
    }
    assert_eq!(asked.lock().unwrap().len(), 4, "what can be used is not read again at once");
}

#[tokio::test]
async fn what_is_remembered_of_a_secret_is_not_taken_for_what_is_known_of_another() {
    let shop = database("shop", &json!({}));
    let (secrets, asked) = serving(&edited(&shop));
    assert_eq!(secrets.look(&shop, SecretOf::App).await.seen, SecretSeen::Outdated);
    let given = database("shop", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    assert_eq!(secrets.look(&given, SecretOf::App).await.seen, SecretSeen::Usable);
    let elsewhere = database("shop", &json!({ "credentials": { "secretRef": { "name": "mine" } } }));
    drop(secrets.look(&elsewhere, SecretOf::App).await);
    let mut anew = shop;
    anew.meta.uid = "u-2".into();
    assert_eq!(secrets.look(&anew, SecretOf::App).await.seen, SecretSeen::Foreign);
    assert_eq!(asked.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn a_secret_that_the_spec_names_is_not_written_to() {
    let shop = database("shop", &json!({}));
    let copy = database("copy", &json!({ "credentials": { "secretRef": { "name": "shop-app" } } }));
    let (secrets, asked) = serving(&edited(&shop));
    secrets.rewrite(&copy, SecretOf::App).await.unwrap();
    assert_eq!(asked.lock().unwrap().len(), 0);
    secrets.rewrite(&shop, SecretOf::App).await.unwrap();
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
    let (secrets, asked) = serving(&edited(&database("shop", &json!({}))));
    let deleted = || asked.lock().unwrap().iter().any(|(method, _)| *method == Method::DELETE);
    let before = going(json!({}));
    assert_eq!(secrets.look(&before, SecretOf::App).await.seen, SecretSeen::Foreign);
    secrets.drop(&before, SecretOf::App).await.unwrap();
    assert!(!deleted());
    let beside = json!({ "initialization": { "dataCreatedAt": "2026-01-01T00:00:00Z" } });
    secrets.drop(&going(beside.clone()), SecretOf::App).await.unwrap();
    assert!(!deleted(), "it was named beside other data, and stays where it is");
    let mut taken_over = beside;
    taken_over["storage"] = json!({ "adoptedFrom": ["u-shop"] });
    secrets.drop(&going(taken_over), SecretOf::App).await.unwrap();
    assert!(deleted(), "what was taken over goes with its volume");
}
