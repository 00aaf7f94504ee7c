//! What the API rejects of an EtcdCluster, with a message that says what is wrong and what to do; and what the archived operator
//! accepted, which must not be rejected. Nothing here runs: creates are dry runs, and objects to edit are paused.

use api::etcd_cluster::EtcdCluster;
use e2e::namespace::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

mod edits;
mod refused;
mod taken;

/// The API group and version.
const SAMPLE: &str = include_str!("../../../config/samples/etcd_cluster.yaml");

/// A manifest with that spec, in YAML's short form.
fn manifest(name: &str, spec: &str) -> String {
    let head = "apiVersion: etcd.database.coreos.com/v1beta2\nkind: EtcdCluster";
    format!("{head}\nmetadata:\n  name: {name}\nspec: {spec}\n")
}

fn clusters(ns: &Namespace) -> Api<DynamicObject> {
    Api::namespaced_with(ns.client.clone(), &ns.name, &ApiResource::erase::<EtcdCluster>(&()))
}

fn object(name: &str, spec: &Value) -> DynamicObject {
    let object = json!({
        "apiVersion": "etcd.database.coreos.com/v1beta2",
        "kind": "EtcdCluster",
        "metadata": { "name": name },
        "spec": spec,
    });
    serde_json::from_value(object).expect("an object")
}

/// A size, and what else is given.
fn spec(extra: &Value) -> Value {
    let mut spec = json!({ "size": 3, "paused": true });
    for (key, value) in extra.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    spec
}

fn said(answer: kube::Result<DynamicObject>) -> Result<(), String> {
    match answer {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.code == 422 || refusal.code == 400 => Err(refusal.message.clone()),
        Err(other) => panic!("neither taken nor refused: {other}"),
    }
}

/// What the API server says to a new cluster, without keeping it.
async fn tried(ns: &Namespace, name: &str, spec: &Value) -> Result<(), String> {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    said(clusters(ns).create(&dry, &object(name, spec)).await)
}

/// Tries each with a size, and gathers those that are not taken.
async fn taken(purpose: &str, cases: &[Value]) {
    let ns = Namespace::new(purpose).await;
    let mut wrong = Vec::new();
    for extra in cases {
        if let Err(said) = tried(&ns, "web", &spec(extra)).await {
            wrong.push(format!("{extra}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tries each with a size, and gathers all that is wrong.
async fn refused(purpose: &str, cases: &[(Value, &[&str])]) {
    let ns = Namespace::new(purpose).await;
    let mut wrong = Vec::new();
    for (extra, expected) in cases {
        match tried(&ns, "web", &spec(extra)).await {
            Ok(()) => wrong.push(format!("{extra} was taken")),
            Err(said) if expected.iter().all(|part| said.contains(part)) => {}
            Err(said) => wrong.push(format!("{extra}: {expected:?} is not in: {said}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Creates each cluster with the first spec, tries to change it to the second, and collects all that is wrong. `None`: the edit
/// is to be accepted.
async fn edited(purpose: &str, cases: &[(Value, Value, Option<&str>)]) {
    let ns = Namespace::new(purpose).await;
    let clusters = clusters(&ns);
    let mut wrong = Vec::new();
    for (index, (before, after, sentence)) in cases.iter().enumerate() {
        let name = format!("case-{index}");
        // As `kubectl apply --server-side` does: what is left out is taken away.
        let apply = |spec: &Value| Patch::Apply(object(&name, &self::spec(spec)));
        let manager = PatchParams::apply("a-user");
        let created = clusters.patch(&name, &manager, &apply(before)).await;
        created.unwrap_or_else(|error| panic!("{before} was refused: {error}"));
        let edit = said(clusters.patch(&name, &manager.dry_run(), &apply(after)).await);
        match (edit, sentence) {
            (Ok(()), None) => {}
            (Err(said), Some(sentence)) if said.contains(sentence) && !said.contains("evaluat") => {}
            (edit, _) => wrong.push(format!("{before} to {after}: {sentence:?} was due, not {edit:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
