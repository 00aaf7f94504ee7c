//! A child as the API server sends it, read only as far as needed: most of a Deployment's text is of no interest, and
//! building it all in memory was a quarter of what a reconcile cost.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::plan::drift::{Fingerprint, Ownership};
use crate::plan::meta::Meta;

/// The top-level fields of an object, each unread.
pub(super) struct Live<'a> {
    fields: BTreeMap<&'a str, &'a RawValue>,
    owned: Option<Value>,
    /// When what is ours was last changed by us, in the API server's time.
    pub(super) applied: Option<Timestamp>,
    /// Who it is.
    pub(super) meta: Meta,
}

impl<'a> Live<'a> {
    pub(super) fn read(json: &'a str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Managed<'a> {
            #[serde(rename = "managedFields", borrow, default)]
            managed_fields: Vec<Ownership<'a>>,
        }
        let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(json)?;
        let metadata = fields.get("metadata").map_or("null", |raw| raw.get());
        let managed: Managed<'_> = serde_json::from_str(metadata)?;
        let ours = managed.managed_fields.iter().find(|entry| entry.is_ours());
        let (owned, applied) = (ours.map(Ownership::fields).transpose()?, ours.and_then(|entry| entry.time));
        Ok(Self { owned, applied, meta: serde_json::from_str(metadata)?, fields })
    }

    /// One top-level field; the default if there is none.
    pub(super) fn field<T: DeserializeOwned + Default>(&self, name: &str) -> serde_json::Result<T> {
        self.fields.get(name).map_or_else(|| Ok(T::default()), |raw| serde_json::from_str(raw.get()))
    }

    /// Whether that path is ours.
    pub(super) fn owns(&self, path: &str) -> bool {
        self.owned.as_ref().is_some_and(|owned| owned.pointer(path).is_some())
    }

    /// What of it is ours.
    pub(super) fn fingerprint(&self) -> serde_json::Result<Fingerprint> {
        let Some(owned) = &self.owned else { return Ok(Fingerprint::of_nothing()) };
        let mut parts = Map::new();
        for name in owned.as_object().into_iter().flat_map(Map::keys).filter_map(|path| path.strip_prefix("f:")) {
            let part = if name == "metadata" { self.field::<OwnableMeta>(name)?.into() } else { self.field(name)? };
            parts.insert(name.to_owned(), part);
        }
        Ok(Fingerprint::of_owned(&Value::Object(parts), owned))
    }
}

/// The metadata that an apply may own.
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
        serde_json::json!({
            "labels": labels, "annotations": annotations, "finalizers": finalizers, "ownerReferences": owner_references,
        })
    }
}
