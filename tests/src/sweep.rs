//! Edits of every field of a child by somebody, and what becomes of each: an operator takes it back, or it stays because it is of
//! others.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};

use api::ConditionStatus;
use api::my_app::MyApp;
use api::sample::Sample;
use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use kube::core::{ApiResource, GroupVersionKind, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::cluster;
use crate::namespace::Namespace;
use crate::objects::Ours;

mod schema;
mod somebody;

use schema::{Edit, Schemas};
use somebody::{Outcome, Somebody};

/// How somebody edits.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// As `kubectl edit` and `replace`.
    Update,
    /// As `kubectl patch`.
    Patch,
    /// As `kubectl apply --server-side --force-conflicts`.
    ForcedApply,
}

impl By {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Update, Self::Patch, Self::ForcedApply];
}

/// How many objects are edited side by side.
const BESIDE: usize = 10;

/// Fields of every object's metadata that somebody edits; the others nobody can.
const METADATA: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// What others put into the metadata of any child, and `more` places that are of others.
#[must_use]
pub fn of_others(more: &[&'static str]) -> Vec<&'static str> {
    const EACH: [&str; 4] =
        ["metadata.labels.sweep", "metadata.annotations", "metadata.finalizers", "metadata.ownerReferences[+]"];
    [&EACH, more].concat()
}

/// A kind of child, of an object called `web`.
#[derive(Debug, Default)]
pub struct Child {
    /// Its API group; empty for the core's.
    pub group: &'static str,
    /// The group's version.
    pub version: &'static str,
    /// Its kind.
    pub kind: &'static str,
    /// What makes the object that it is a child of.
    pub manifest: String,
    /// Where what others put stays, such as `spec.ports[0].nodePort`: these places, and those below them.
    pub theirs: Vec<&'static str>,
    /// Places among those where it does not, but for such among these.
    pub ours: Vec<&'static str>,
    /// The places that are edited, and those below them; none for all.
    pub only: Vec<&'static str>,
}

/// Whether a place is that one, or below it.
fn is_in(place: &str, of: &str) -> bool {
    place.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl Child {
    fn is_theirs(&self, place: &str) -> bool {
        let closest = |places: &[&str]| places.iter().filter(|of| is_in(place, of)).map(|of| of.len()).max();
        // What is done to a place is done to those in it.
        let is_above = self.ours.iter().any(|ours| is_in(ours, place));
        closest(&self.theirs) > closest(&self.ours) && !is_above
    }
}

/// A kind of ours with children.
pub trait Parent:
    Ours + Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl Parent for MyApp {}
impl Parent for Sample {}

/// Edits every field of such a child, and fails naming all that did not become of it what was to.
pub async fn swept<K: Parent>(child: &Child) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(child.group, child.version, child.kind));
    let first = Namespace::new("sweep").await;
    let schemas = schemas(&first, child).await;
    let mut others = Vec::new();
    for _ in 1..BESIDE {
        others.push(first.beside("sweep", &[]).await);
    }
    let audit = cluster::audit();
    let sweeps = std::iter::once(&first).chain(&others).enumerate().map(|(number, ns)| {
        let (schemas, resource, audit) = (&schemas, &resource, &audit);
        async move {
            ns.apply(&child.manifest).await;
            ns.until::<K, ()>("web", "it to be ready", |object| object?.is_ready().then_some(())).await;
            let api = kube::Api::namespaced_with(ns.client.clone(), &ns.name, resource);
            sweep::<K>(child, &Somebody { ns, audit, schemas, resource, api, name: "web" }, number).await
        }
    });
    let results: Vec<_> = futures::stream::iter(sweeps).buffer_unordered(BESIDE).collect().await;
    let (mut counts, mut wrong) = (Counts::new(), String::new());
    for (some, faults) in results {
        some.into_iter().for_each(|(outcome, count)| *counts.entry(outcome).or_default() += count);
        wrong.push_str(&faults);
    }
    println!("{}: {counts:?}", child.kind);
    assert!(wrong.is_empty(), "{}, {counts:?}:\n{wrong}", child.kind);
}

/// How many edits came to what.
type Counts = BTreeMap<Outcome, usize>;

async fn schemas(ns: &Namespace, child: &Child) -> Schemas {
    let group = if child.group.is_empty() { "api".to_owned() } else { format!("apis/{}", child.group) };
    let request = http::Request::get(format!("/openapi/v3/{group}/{}", child.version)).body(Vec::new());
    let request = request.expect("it is a request");
    let document: Value = ns.client.request(request).await.expect("the API server publishes its schemas");
    Schemas::of(&document)
}

/// Makes every [`BESIDE`]th edit, from that number on.
async fn sweep<K: Parent>(child: &Child, somebody: &Somebody<'_>, number: usize) -> (Counts, String) {
    let edits = edits(child, somebody).await;
    let (mut counts, mut wrong) = (Counts::new(), String::new());
    for edit in edits.iter().skip(number).step_by(BESIDE) {
        for by in By::ALL {
            let (outcome, fault) = somebody.makes(edit, by, child.is_theirs(&edit.place())).await;
            *counts.entry(outcome).or_default() += 1;
            if let Some(fault) = fault {
                let _ = writeln!(wrong, "{edit} ({by:?}): {outcome:?}, {fault}");
            }
        }
        let object = somebody.ns.get::<K>(somebody.name).await;
        if let Some(stalled) = object.condition("Stalled").filter(|stalled| stalled.status == ConditionStatus::True) {
            let _ = writeln!(wrong, "{edit}: Stalled, {}: {}", stalled.reason, stalled.message);
        }
    }
    (counts, wrong)
}

async fn edits(child: &Child, somebody: &Somebody<'_>) -> Vec<Edit> {
    let live = somebody.live().await;
    let schema = somebody.schemas.kind(child.kind);
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| &**name);
    let fields: Vec<&str> =
        fields.filter(|name| !["apiVersion", "kind", "metadata", "status"].contains(name)).collect();
    let mut edits = somebody.schemas.edits(schema, &live, &[], &fields);
    edits.extend(somebody.schemas.edits(schema, &live, &["metadata"], &METADATA));
    edits.retain(|edit| child.only.is_empty() || child.only.iter().any(|only| is_in(&edit.place(), only)));
    edits
}
