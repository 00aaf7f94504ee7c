//! Edits of children by others, and how the operator reverts them.

use std::fmt::Debug;
use std::time::Duration;

use e2e::audit::Audit;
use e2e::namespace::Namespace;
use e2e::patience::{Bar, Moment};
pub use e2e::sweep::By;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::writes::{lines, settled, taken_of, to, writes};

/// The promise is 1 s; a failure is what is far from it, whatever else the cluster does.
const BACK: Bar = Bar::work(Duration::from_secs(10));
const OTHER_WRITER: &str = "other-writer";

/// What an object is, without what changes with every write.
pub fn content(object: &impl Serialize) -> Value {
    let object = serde_json::to_value(object).expect("objects are JSON");
    json!([object["spec"], object["data"], object["binaryData"]])
}

/// Edits an object as another writer, and returns the result.
pub async fn edit<K>(api: &Api<K>, name: &str, by: By, change: &Value) -> K
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let edited = match by {
        By::Update => {
            // Another client (a Deployment's controller) may write between the two.
            loop {
                let live = api.get(name).await.expect("it is there");
                let mut object = serde_json::to_value(&live).expect("objects are JSON");
                json_patch::merge(&mut object, change);
                let object: K = serde_json::from_value(object).expect("the edit keeps the shape");
                let parameters = PostParams { field_manager: Some(OTHER_WRITER.to_owned()), ..PostParams::default() };
                match api.replace(name, &parameters, &object).await {
                    Err(kube::Error::Api(status)) if status.code == 409 => {}
                    other => break other,
                }
            }
        }
        By::Patch => {
            let parameters = PatchParams { field_manager: Some(OTHER_WRITER.to_owned()), ..PatchParams::default() };
            api.patch(name, &parameters, &Patch::Merge(change)).await
        }
        By::ForcedApply => {
            let mut body = change.clone();
            body["apiVersion"] = json!(K::api_version(&()));
            body["kind"] = json!(K::kind(&()));
            api.patch(name, &PatchParams::apply(OTHER_WRITER).force(), &Patch::Apply(body)).await
        }
    };
    edited.unwrap_or_else(|error| panic!("{name}: {by:?} of {change} was refused: {error}"))
}

/// Edits an object, and expects it as it was before, by one write.
pub async fn is_back<K>(ns: &Namespace, audit: &Audit, name: &str, by: By, what: &str, change: Value)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    settled(audit, ns).await;
    let api = ns.api::<K>();
    let before = content(&ns.get::<K>(name).await);
    let mark = audit.mark().expect("the audit log is there");
    let begun = Moment::now();
    let edited = edit(&api, name, by, &change).await;
    assert_ne!(content(&edited), before, "{what}: the edit changes something");
    let wanted = format!("{what} ({by:?}) to be back as {before}");
    ns.until::<K, ()>(name, &wanted, |object| (content(object?) == before).then_some(())).await;
    let passed = begun.passed();
    println!("{what} ({by:?}): back after {passed} (bar: 1 s)");
    BACK.holds(what, passed.real, passed.slowness()).unwrap_or_else(|missed| panic!("{missed}"));
    settled(&mark, ns).await;
    assert_eq!(content(&ns.get::<K>(name).await), before, "{what}: it stays so");
    let (written, target) = (writes(&mark, ns), K::plural(&()).to_string());
    println!("{}", lines(&written));
    let taken = taken_of(written.clone());
    assert_eq!(to(&taken, &target).len(), 1, "{what} ({by:?}) by one write:\n{}", lines(&written));
}

/// A Deployment's containers with the first one changed so: a merge patch knows no items of lists.
pub fn with_container(live: &Deployment, change: impl FnOnce(&mut Value)) -> Value {
    let mut containers = content(live)[0]["template"]["spec"]["containers"].clone();
    change(&mut containers[0]);
    spec(json!({ "template": { "spec": { "containers": containers } } }))
}

/// Fields of a spec.
pub fn spec(fields: Value) -> Value {
    json!({ "spec": fields })
}
