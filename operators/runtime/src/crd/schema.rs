//! Pure: whether the CRD that the API server serves has what the manager needs.
//!
//! Another CRD of the same name may have been applied over ours, or the manager may be newer than the CRD. What is served is
//! read from OpenAPI, which every authenticated user may; CRDs themselves would take a right on the whole cluster.
//! (kubernetes: apiextensions-apiserver/pkg/controller/openapi/builder)

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::plan::meta::Kind;

mod cut;
mod lack;

pub use cut::{cut, cuts, hold};
pub use lack::{Lack, Step};

/// How many fields a sentence names.
const NAMED: usize = 5;

/// What the API server publishes of the kinds of one group and version.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Document {
    paths: BTreeMap<String, IgnoredAny>,
    components: Components,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Components {
    schemas: BTreeMap<String, Schema>,
}

/// Which fields there are.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Schema {
    #[serde(rename = "type")]
    type_: Value,
    properties: BTreeMap<String, Schema>,
    items: Option<Box<Schema>>,
    additional_properties: Option<Additional>,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    keeps_unknown: bool,
    #[serde(rename = "x-kubernetes-group-version-kind")]
    kinds: Vec<Named>,
}

/// Values whose names are not given.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Additional {
    Any(bool),
    Of(Box<Schema>),
}

#[derive(Debug, Deserialize)]
struct Named {
    group: String,
    version: String,
    kind: String,
}

impl Named {
    fn is(&self, kind: &Kind) -> bool {
        (&*self.group, &*self.version, &*self.kind) == (kind.group, kind.version, kind.kind)
    }
}

/// What a manager needs of one kind's CRD, as `api::FIELDS` has it.
#[derive(Debug, Deserialize)]
pub struct Needed {
    schema: Schema,
}

impl Needed {
    /// That of `kind` among the lines of `fields`; none for a kind that is no custom resource of ours.
    #[must_use]
    pub fn of(kind: &Kind, fields: &str) -> Option<Self> {
        let is_it = |line: &&str| serde_json::from_str::<Named>(line).is_ok_and(|named| named.is(kind));
        fields.lines().find(is_it).and_then(|line| serde_json::from_str(line).ok())
    }
}

/// What is known of a kind's CRD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Crd {
    /// Nothing: it has not been looked at, or the kind has none.
    #[default]
    Unknown,
    /// It has what is needed.
    Fits,
    /// It lacks this.
    Lacks(Arc<[Lack]>),
}

impl Crd {
    /// What is lacking, if anything is known to be.
    #[must_use]
    pub fn lacking(&self) -> Option<&Arc<[Lack]>> {
        match self {
            Self::Lacks(lacks) => Some(lacks),
            Self::Unknown | Self::Fits => None,
        }
    }
}

/// What a CRD lacks, judged by what the API server publishes of its group and version, if it publishes anything.
#[must_use]
pub fn lacks(published: Option<&Document>, kind: &Kind, needed: &Needed) -> Vec<Lack> {
    let Kind { group, version, plural, .. } = kind;
    let of_cluster = format!("/apis/{group}/{version}/{plural}");
    let of_namespace = format!("/apis/{group}/{version}/namespaces/{{namespace}}/{plural}");
    let serves = |path: &str| published.is_some_and(|document| document.paths.contains_key(path));
    if !serves(&of_cluster) {
        return vec![Lack::Version(version)];
    }
    let mut lacks = Vec::new();
    if !serves(&of_namespace) {
        lacks.push(Lack::Namespaces);
    } else if !serves(&format!("{of_namespace}/{{name}}/status")) {
        lacks.push(Lack::Status);
    }
    let mut schemas = published.into_iter().flat_map(|document| document.components.schemas.values());
    if let Some(served) = schemas.find(|schema| schema.kinds.iter().any(|named| named.is(kind))) {
        compare(&needed.schema, served, &mut Vec::new(), &mut lacks);
    }
    lacks
}

fn compare(needed: &Schema, served: &Schema, path: &mut Vec<Step>, lacks: &mut Vec<Lack>) {
    if let (Value::String(needed), Value::String(served)) = (&needed.type_, &served.type_)
        && needed != served
    {
        lacks.push(Lack::Type { field: path.clone(), needed: (&**needed).into(), served: (&**served).into() });
        return;
    }
    for (name, below) in &needed.properties {
        let found = served.properties.get(name).map(Found::As).unwrap_or_else(|| served.unnamed());
        step(Step::Field((&**name).into()), below, found, path, lacks);
    }
    if let Some(below) = &needed.items {
        step(Step::Items, below, served.items.as_deref().map_or_else(|| served.unnamed(), Found::As), path, lacks);
    }
    match &needed.additional_properties {
        Some(Additional::Of(below)) => step(Step::Values, below, served.unnamed(), path, lacks),
        Some(Additional::Any(true)) => step(Step::Values, &Schema::default(), served.unnamed(), path, lacks),
        None if needed.keeps_unknown => step(Step::Values, &Schema::default(), served.unnamed(), path, lacks),
        Some(Additional::Any(false)) | None => {}
    }
}

/// What becomes of a field.
enum Found<'a> {
    As(&'a Schema),
    AsItIs,
    Not,
}

impl Schema {
    /// What becomes of a field that is not named.
    fn unnamed(&self) -> Found<'_> {
        match &self.additional_properties {
            Some(Additional::Of(schema)) => Found::As(schema),
            Some(Additional::Any(true)) => Found::AsItIs,
            _ if self.keeps_unknown => Found::AsItIs,
            _ => Found::Not,
        }
    }
}

fn step(step: Step, needed: &Schema, found: Found<'_>, path: &mut Vec<Step>, lacks: &mut Vec<Lack>) {
    path.push(step);
    match found {
        Found::As(served) => compare(needed, served, path, lacks),
        Found::AsItIs => {}
        Found::Not => lacks.push(Lack::Field(path.clone())),
    }
    path.pop();
}

/// What is wrong, and what to do.
#[must_use]
pub fn sentence(kind: &Kind, lacks: &[Lack]) -> String {
    let fields: BTreeSet<String> = lacks.iter().filter_map(Lack::field).collect();
    let more = fields.len().saturating_sub(NAMED);
    let mut named = fields.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        named = format!("{named} and {more} more");
    }
    let mut parts: Vec<String> = lacks.iter().filter_map(Lack::clause).collect();
    if !named.is_empty() {
        parts.push(format!("it has no {named}"));
    }
    format!(
        "the CRD {}.{} is not the one that this manager needs: {}; apply kustomize/crds of this manager's version",
        kind.plural,
        kind.group,
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests;
