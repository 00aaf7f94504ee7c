//! Edits of every field of a child by another writer, and the outcome of each: an operator reverts it, or keeps it because the
//! field is foreign.

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
use crate::objects::ManagedKind;

mod other_writer;
mod schema;

use other_writer::{OtherWriter, Outcome};
use schema::{Edit, Schemas};

/// How the other writer edits.
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
const PARALLEL: usize = 10;

/// Fields of every object's metadata that a client may edit.
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
    /// The manifest of the object that owns the child.
    pub manifest: String,
    /// Where additions of others are kept, such as `spec.ports[0].nodePort`: these places, and those below them.
    pub foreign: Vec<&'static str>,
    /// Places among those where it does not, but for such among these.
    pub owned: Vec<&'static str>,
    /// The places that are edited, and those below them; none for all.
    pub only: Vec<&'static str>,
}

/// Whether a place is that one, or below it.
fn is_in(place: &str, of: &str) -> bool {
    place.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl Child {
    fn is_foreign(&self, place: &str) -> bool {
        let closest = |places: &[&str]| places.iter().filter(|of| is_in(place, of)).map(|of| of.len()).max();
        // What is done to a place is done to those in it.
        let is_above = self.owned.iter().any(|owned| is_in(owned, place));
        closest(&self.foreign) > closest(&self.owned) && !is_above
    }
}

/// An object of this project's kinds that has children.
pub trait Parent:
    ManagedKind + Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
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
    for _ in 1..PARALLEL {
        others.push(first.another("sweep", &[]).await);
    }
    let audit = cluster::audit();
    let sweeps = std::iter::once(&first).chain(&others).enumerate().map(|(number, ns)| {
        let (schemas, resource, audit) = (&schemas, &resource, &audit);
        async move {
            ns.apply(&child.manifest).await;
            ns.until::<K, ()>("web", "it to be ready", |object| object?.is_ready().then_some(())).await;
            let api = kube::Api::namespaced_with(ns.client.clone(), &ns.name, resource);
            sweep::<K>(child, &OtherWriter { ns, audit, schemas, resource, api, name: "web" }, number).await
        }
    });
    let results: Vec<_> = futures::stream::iter(sweeps).buffer_unordered(PARALLEL).collect().await;
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

/// Makes every [`PARALLEL`]th edit, beginning with this number.
async fn sweep<K: Parent>(child: &Child, other_writer: &OtherWriter<'_>, number: usize) -> (Counts, String) {
    let edits = edits(child, other_writer).await;
    let (mut counts, mut wrong) = (Counts::new(), String::new());
    for edit in edits.iter().skip(number).step_by(PARALLEL) {
        for by in By::ALL {
            let (outcome, fault) = other_writer.makes(edit, by, child.is_foreign(&edit.place())).await;
            *counts.entry(outcome).or_default() += 1;
            if let Some(fault) = fault {
                let _ = writeln!(wrong, "{edit} ({by:?}): {outcome:?}, {fault}");
            }
        }
        let object = other_writer.ns.get::<K>(other_writer.name).await;
        if let Some(stalled) = object.condition("Stalled").filter(|stalled| stalled.status == ConditionStatus::True) {
            let _ = writeln!(wrong, "{edit}: Stalled, {}: {}", stalled.reason, stalled.message);
        }
    }
    (counts, wrong)
}

async fn edits(child: &Child, other_writer: &OtherWriter<'_>) -> Vec<Edit> {
    let live = other_writer.live().await;
    let schema = other_writer.schemas.kind(child.kind);
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| &**name);
    let fields: Vec<&str> =
        fields.filter(|name| !["apiVersion", "kind", "metadata", "status"].contains(name)).collect();
    let mut edits = other_writer.schemas.edits(schema, &live, &[], &fields);
    edits.extend(other_writer.schemas.edits(schema, &live, &["metadata"], &METADATA));
    edits.retain(|edit| child.only.is_empty() || child.only.iter().any(|only| is_in(&edit.place(), only)));
    edits
}
