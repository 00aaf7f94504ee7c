//! Pure: decodes a child only as far as needed: most of the JSON of a Deployment is irrelevant, and decoding all of it was a
//! quarter of the cost of a reconcile.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::apply::drift::{Additions, CreatedFingerprint, Fingerprint, Owners, Unapplied, rules};
use crate::plan::meta::{Meta, ResourceKind};

/// The top-level fields of an object, not decoded.
pub(super) struct ManagedFieldsReader<'a> {
    fields: BTreeMap<&'a str, &'a RawValue>,
    owners: Owners,
    json: &'a str,
    /// Who it is.
    pub(super) meta: Meta,
}

impl<'a> ManagedFieldsReader<'a> {
    pub(super) fn read(json: &'a str) -> serde_json::Result<Self> {
        let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(json)?;
        let metadata = fields.get("metadata").map_or("null", |raw| raw.get());
        Ok(Self { owners: Owners::read(metadata)?, meta: serde_json::from_str(metadata)?, fields, json })
    }

    /// One top-level field; the default if there is none.
    pub(super) fn field<T: DeserializeOwned + Default>(&self, name: &str) -> serde_json::Result<T> {
        self.fields.get(name).map_or_else(|| Ok(T::default()), |raw| serde_json::from_str(raw.get()))
    }

    /// The fingerprint of the spec, regardless of the owners. It equals that of an apply that renders all defaults.
    pub(super) fn spec(&self) -> serde_json::Result<Fingerprint> {
        Ok(Fingerprint::of_rendered(&self.field("spec")?))
    }

    /// When we last changed our part, by the clock of the API server.
    pub(super) fn applied(&self) -> Option<Timestamp> {
        self.owners.since
    }

    /// Whether we own that path. A field at its default is owned only through an apply, since a creation owns defaults as well.
    pub(super) fn owns(&self, path: &str, is_default: bool) -> bool {
        let owns = |fields: &Option<Value>| fields.as_ref().is_some_and(|ours| ours.pointer(path).is_some());
        owns(&self.owners.applied) || !is_default && owns(&self.owners.patched)
    }

    /// The fingerprint of the owned part.
    pub(super) fn fingerprint(&self) -> serde_json::Result<Fingerprint> {
        match self.owners.ours() {
            Some(ours) => Ok(Fingerprint::of_owned(&self.parts(field_names(&ours))?, &ours)),
            None => Ok(Fingerprint::of_nothing()),
        }
    }

    /// The fingerprint of the owned part, and additions of others in exclusive places.
    pub(super) fn compare(&self, kind: &ResourceKind) -> serde_json::Result<(Fingerprint, Additions)> {
        self.compare_parts(kind).map(|(fingerprint, additions, _)| (fingerprint, additions))
    }

    /// The same, and the parts that were decoded for it.
    pub(super) fn compare_parts(&self, kind: &ResourceKind) -> serde_json::Result<(Fingerprint, Additions, Value)> {
        let rules = rules(kind);
        let all = self.owners.applied.iter().chain(&self.owners.patched).flat_map(field_names).chain(rules.fields());
        let parts = self.parts(all)?;
        let mut additions = Additions::find(rules, &parts, &self.owners);
        let fingerprint = match (self.owners.ours(), &self.owners.patched) {
            (None, _) => Fingerprint::of_nothing(),
            (Some(ours), None) => Fingerprint::of_owned(&parts, &ours),
            (Some(ours), Some(_)) => {
                let made = CreatedFingerprint::of_owned(kind, &parts, &ours, self.owners.applied.as_ref());
                let others = made.others;
                // Without other managers, nothing can have been changed.
                let live_json = (!self.owners.others.is_empty()).then(|| self.json.into());
                additions.unapplied =
                    Some(Box::new(Unapplied { created: made, first: others, since: self.owners.since, live_json }));
                others
            }
        };
        Ok((fingerprint, additions, parts))
    }

    /// The fingerprint of the owned part of a field within a top-level field (a path of FieldsV1), from the decoded parts.
    pub(super) fn created_within(
        &self,
        kind: &ResourceKind,
        parts: &Value,
        [top, field]: [&str; 2],
    ) -> CreatedFingerprint {
        let within = |owned: &Value| match owned.pointer(&format!("/{top}/{field}")) {
            Some(below) => json!({ top: { field: below } }),
            None => json!({}),
        };
        let ours = self.owners.ours().as_deref().map_or_else(|| json!({}), within);
        CreatedFingerprint::of_owned(kind, parts, &ours, self.owners.applied.as_ref().map(within).as_ref())
    }

    /// The ports of a Service as JSON, from the decoded parts, if we own all fields that we send of each, and there are no other
    /// ports.
    pub(super) fn ports(&self, parts: &Value) -> Option<Box<str>> {
        const SENT: [&str; 4] = ["name", "port", "protocol", "targetPort"];
        let ours = self.owners.ours()?;
        let owned = ours.pointer("/f:spec/f:ports")?.as_object()?;
        let owned: Vec<&Value> = owned.iter().filter(|(key, _)| key.starts_with("k:")).map(|(_, port)| port).collect();
        let is_whole = |port: &&Value| SENT.iter().all(|field| port.get(format!("f:{field}")).is_some());
        let ports = parts.pointer("/spec/ports")?.as_array()?;
        let sent = |port: &Value| {
            let field = |name: &&str| Some(((*name).to_owned(), port.get(name)?.clone()));
            SENT.iter().map(field).collect::<Option<Map<String, Value>>>().map(Value::Object)
        };
        let sent: Vec<Value> = ports.iter().map(sent).collect::<Option<_>>()?;
        (owned.len() == sent.len() && owned.iter().all(is_whole)).then(|| Value::Array(sent).to_string().into())
    }

    /// Decodes these top-level fields, as far as an apply may own them.
    fn parts<'n>(&self, names: impl Iterator<Item = &'n str>) -> serde_json::Result<Value> {
        let mut parts = Map::new();
        for name in names {
            if !parts.contains_key(name) {
                let part = if name == "metadata" { self.field::<OwnableMeta>(name)?.into() } else { self.field(name)? };
                parts.insert(name.to_owned(), part);
            }
        }
        Ok(Value::Object(parts))
    }
}

/// The top-level fields that a FieldsV1 names.
fn field_names(fields: &Value) -> impl Iterator<Item = &str> {
    fields.as_object().into_iter().flat_map(Map::keys).filter_map(|path| path.strip_prefix("f:"))
}

/// The part of the metadata that an apply may own.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OwnableMeta {
    labels: Value,
    annotations: Value,
    finalizers: Value,
    owner_references: Value,
}

impl From<OwnableMeta> for Value {
    fn from(meta: OwnableMeta) -> Self {
        let OwnableMeta { labels, annotations, finalizers, owner_references } = meta;
        json!({
            "labels": labels, "annotations": annotations, "finalizers": finalizers, "ownerReferences": owner_references,
        })
    }
}
