//! What the API rejects of a SampleDB and a SampleDBSnapshot, with a message that says what is wrong and what to do; and what it
//! accepts. Nothing here runs: creates are dry runs, and objects to edit are paused.

use api::sample_db::SampleDB;
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::namespace::Namespace;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

mod edits;
mod refused;
mod refused_fields;
mod taken;

/// The examples of the documentation.
const SAMPLES: [&str; 2] = [
    include_str!("../../../config/samples/sample_db.yaml"),
    include_str!("../../../config/samples/sample_db_snapshot.yaml"),
];

/// Which of the two kinds a table is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Database,
    Snapshot,
}

impl Kind {
    fn objects(self, ns: &Namespace) -> Api<DynamicObject> {
        let resource = match self {
            Self::Database => ApiResource::erase::<SampleDB>(&()),
            Self::Snapshot => ApiResource::erase::<SampleDBSnapshot>(&()),
        };
        Api::namespaced_with(ns.client.clone(), &ns.name, &resource)
    }

    fn object(self, name: &str, spec: &Value) -> DynamicObject {
        let kind = if self == Self::Database { "SampleDB" } else { "SampleDBSnapshot" };
        let object = json!({
            "apiVersion": "example.com/v1alpha1",
            "kind": kind,
            "metadata": { "name": name },
            "spec": spec,
        });
        serde_json::from_value(object).expect("an object")
    }

    /// The same as a dry run.
    fn quiet(self, name: &str, spec: &Value) -> DynamicObject {
        let mut spec = spec.clone();
        if self == Self::Database {
            spec["paused"] = json!(true);
        }
        self.object(name, &spec)
    }
}

fn said(answer: kube::Result<DynamicObject>) -> Result<(), String> {
    match answer {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(refusal)) if refusal.code == 422 || refusal.code == 400 => Err(refusal.message.clone()),
        Err(other) => panic!("neither taken nor refused: {other}"),
    }
}

/// What the API server says to a new object, without keeping it.
async fn tried(ns: &Namespace, kind: Kind, name: &str, spec: &Value) -> Result<(), String> {
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    said(kind.objects(ns).create(&dry, &kind.object(name, spec)).await)
}

/// Tries each, and gathers those that are not taken.
async fn taken(purpose: &str, kind: Kind, cases: &[Value]) {
    let ns = Namespace::new(purpose).await;
    let mut wrong = Vec::new();
    for spec in cases {
        if let Err(said) = tried(&ns, kind, "web", spec).await {
            wrong.push(format!("{spec}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tries each, and gathers all that is wrong.
async fn refused(purpose: &str, kind: Kind, cases: &[(Value, &[&str])]) {
    let ns = Namespace::new(purpose).await;
    let mut wrong = Vec::new();
    for (spec, expected) in cases {
        match tried(&ns, kind, "web", spec).await {
            Ok(()) => wrong.push(format!("{spec} was taken")),
            Err(said) if expected.iter().all(|part| said.contains(part)) => {}
            Err(said) => wrong.push(format!("{spec}: {expected:?} is not in: {said}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Creates each object with the first spec, tries to change it to the second, and collects all that is wrong. `None`: the edit is
/// to be accepted.
async fn edited(purpose: &str, kind: Kind, cases: &[(Value, Value, Option<&str>)]) {
    let ns = Namespace::new(purpose).await;
    let objects = kind.objects(&ns);
    let mut wrong = Vec::new();
    for (index, (before, after, sentence)) in cases.iter().enumerate() {
        let name = format!("case-{index}");
        // As `kubectl apply --server-side` does: what is left out is taken away.
        let apply = |spec: &Value| Patch::Apply(kind.quiet(&name, spec));
        let manager = PatchParams::apply("a-user");
        let created = objects.patch(&name, &manager, &apply(before)).await;
        created.unwrap_or_else(|error| panic!("{before} was refused: {error}"));
        let edit = said(objects.patch(&name, &manager.clone().dry_run(), &apply(after)).await);
        match (edit, sentence) {
            (Ok(()), None) => {}
            (Err(said), Some(sentence)) if said.contains(sentence) && !said.contains("evaluat") => {}
            (edit, _) => wrong.push(format!("{before} to {after}: {sentence:?} was due, not {edit:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
