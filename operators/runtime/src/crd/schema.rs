//! Pure: compares the CRD that the API server serves with what the manager needs.
//!
//! A user may have applied another CRD of the same name, or the manager may be newer than the CRD. The served schema is read from
//! OpenAPI, which every authenticated user may read; reading CRDs would take a cluster-wide permission.
//! (kubernetes: apiextensions-apiserver/pkg/controller/openapi/builder)

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::plan::meta::ResourceKind;

mod mismatch;
mod pruned;

pub use mismatch::{CrdMismatch, PathStep};
pub use pruned::{can_prune, pruned_fields, retain_known_fields};

/// How many missing fields a message names.
const NAMED: usize = 5;

/// The OpenAPI document of the kinds of one group and version.
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

/// The fields of an object.
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
    kinds: Vec<GroupVersionKind>,
}

/// The schema of fields without a declared name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Additional {
    Any(bool),
    Of(Box<Schema>),
}

#[derive(Debug, Deserialize)]
struct GroupVersionKind {
    group: String,
    version: String,
    kind: String,
}

impl GroupVersionKind {
    fn is(&self, kind: &ResourceKind) -> bool {
        (&*self.group, &*self.version, &*self.kind) == (kind.group, kind.version, kind.kind)
    }
}

/// What a manager needs of the CRD of one kind, from `api::FIELDS`.
#[derive(Debug, Deserialize)]
pub struct Needed {
    schema: Schema,
}

impl Needed {
    /// The entry of `kind` in the lines of `fields`; `None` for a kind that is no custom resource of ours.
    #[must_use]
    pub fn of(kind: &ResourceKind, fields: &str) -> Option<Self> {
        let is_it = |line: &&str| serde_json::from_str::<GroupVersionKind>(line).is_ok_and(|named| named.is(kind));
        fields.lines().find(is_it).and_then(|line| serde_json::from_str(line).ok())
    }
}

/// The state of a kind's CRD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CrdState {
    /// It has not been checked, or the kind has no CRD.
    #[default]
    Unknown,
    /// It has everything that is needed.
    Matches,
    /// It has these mismatches.
    Mismatched(Arc<[CrdMismatch]>),
}

impl CrdState {
    /// The known mismatches, if there are any.
    #[must_use]
    pub fn mismatches(&self) -> Option<&Arc<[CrdMismatch]>> {
        match self {
            Self::Mismatched(mismatches) => Some(mismatches),
            Self::Unknown | Self::Matches => None,
        }
    }
}

/// The mismatches of a CRD, by the OpenAPI document of its group and version, if there is one.
#[must_use]
pub fn mismatches(published: Option<&Document>, kind: &ResourceKind, needed: &Needed) -> Vec<CrdMismatch> {
    let ResourceKind { group, version, plural, .. } = kind;
    let of_cluster = format!("/apis/{group}/{version}/{plural}");
    let of_namespace = format!("/apis/{group}/{version}/namespaces/{{namespace}}/{plural}");
    let serves = |path: &str| published.is_some_and(|document| document.paths.contains_key(path));
    if !serves(&of_cluster) {
        return vec![CrdMismatch::Version(version)];
    }
    let mut mismatches = Vec::new();
    if !serves(&of_namespace) {
        mismatches.push(CrdMismatch::NotNamespaced);
    } else if !serves(&format!("{of_namespace}/{{name}}/status")) {
        mismatches.push(CrdMismatch::Status);
    }
    let mut schemas = published.into_iter().flat_map(|document| document.components.schemas.values());
    if let Some(served) = schemas.find(|schema| schema.kinds.iter().any(|named| named.is(kind))) {
        compare(&needed.schema, served, &mut Vec::new(), &mut mismatches);
    }
    mismatches
}

fn compare(needed: &Schema, served: &Schema, path: &mut Vec<PathStep>, mismatches: &mut Vec<CrdMismatch>) {
    if let (Value::String(needed), Value::String(served)) = (&needed.type_, &served.type_)
        && needed != served
    {
        mismatches.push(CrdMismatch::Type {
            field: path.clone(),
            needed: (&**needed).into(),
            served: (&**served).into(),
        });
        return;
    }
    for (name, below) in &needed.properties {
        let found = served.properties.get(name).map(SchemaMatch::Schema).unwrap_or_else(|| served.unnamed());
        step(PathStep::Field((&**name).into()), below, found, path, mismatches);
    }
    if let Some(below) = &needed.items {
        step(
            PathStep::Items,
            below,
            served.items.as_deref().map_or_else(|| served.unnamed(), SchemaMatch::Schema),
            path,
            mismatches,
        );
    }
    match &needed.additional_properties {
        Some(Additional::Of(below)) => step(PathStep::Values, below, served.unnamed(), path, mismatches),
        Some(Additional::Any(true)) => step(PathStep::Values, &Schema::default(), served.unnamed(), path, mismatches),
        None if needed.keeps_unknown => step(PathStep::Values, &Schema::default(), served.unnamed(), path, mismatches),
        Some(Additional::Any(false)) | None => {}
    }
}

/// How the served schema treats a field.
enum SchemaMatch<'a> {
    Schema(&'a Schema),
    Any,
    Missing,
}

impl Schema {
    /// How it treats a field without a declared name.
    fn unnamed(&self) -> SchemaMatch<'_> {
        match &self.additional_properties {
            Some(Additional::Of(schema)) => SchemaMatch::Schema(schema),
            Some(Additional::Any(true)) => SchemaMatch::Any,
            _ if self.keeps_unknown => SchemaMatch::Any,
            _ => SchemaMatch::Missing,
        }
    }
}

fn step(
    step: PathStep,
    needed: &Schema,
    found: SchemaMatch<'_>,
    path: &mut Vec<PathStep>,
    mismatches: &mut Vec<CrdMismatch>,
) {
    path.push(step);
    match found {
        SchemaMatch::Schema(served) => compare(needed, served, path, mismatches),
        SchemaMatch::Any => {}
        SchemaMatch::Missing => mismatches.push(CrdMismatch::Field(path.clone())),
    }
    path.pop();
}

/// A message with the mismatches, and what to do.
#[must_use]
pub fn message(kind: &ResourceKind, mismatches: &[CrdMismatch]) -> String {
    let fields: BTreeSet<String> = mismatches.iter().filter_map(CrdMismatch::field).collect();
    let more = fields.len().saturating_sub(NAMED);
    let mut named = fields.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    if more > 0 {
        named = format!("{named} and {more} more");
    }
    let mut parts: Vec<String> = mismatches.iter().filter_map(CrdMismatch::clause).collect();
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
