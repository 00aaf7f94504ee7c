//! One object as a store holds it: decoded, or broken.

use std::sync::Arc;
use std::time::Instant;

use api::Contract;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::projection::{Projection, unchanged};
use crate::plan::meta::{Meta, Owner};

/// What a store holds under a key.
pub enum Entry<V> {
    /// An object that decoded.
    Object(Arc<V>),
    /// One that did not.
    Broken(Arc<Broken>),
}

impl<V> Clone for Entry<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Object(view) => Self::Object(view.clone()),
            Self::Broken(broken) => Self::Broken(broken.clone()),
        }
    }
}

/// An object that is not of the shape expected: an older schema, or junk.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// Who it is.
    pub meta: Meta,
    /// What is wrong with it.
    pub error: String,
    /// What its status says of it, as far as that decodes.
    pub contract: Contract,
    /// Its whole status, as the API server sent it.
    pub status: Map<String, Value>,
    /// Since when it reads otherwise than before, in the same generation.
    pub(super) reread: Option<Instant>,
}

impl<V: Projection> Entry<V> {
    /// Reads one object as the API server sends it.
    ///
    /// # Errors
    /// If it does not even have a name.
    pub fn decode(json: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Named {
            metadata: Meta,
            #[serde(default)]
            status: Map<String, Value>,
        }
        match V::decode(json) {
            Ok(view) => Ok(Self::Object(Arc::new(view))),
            Err(error) => {
                let Named { metadata, status } = serde_json::from_str(json)?;
                let contract = Contract::deserialize(Value::from(status.clone())).unwrap_or_default();
                Ok(Self::Broken(Arc::new(Broken {
                    meta: metadata,
                    error: error.to_string(),
                    contract,
                    status,
                    reread: None,
                })))
            }
        }
    }

    /// Who it is.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        match self {
            Self::Object(view) => view.meta(),
            Self::Broken(broken) => &broken.meta,
        }
    }

    /// The object, if it decoded.
    #[must_use]
    pub fn into_object(self) -> Option<Arc<V>> {
        match self {
            Self::Object(view) => Some(view),
            Self::Broken(_) => None,
        }
    }

    pub(super) fn object(&self) -> Option<&V> {
        match self {
            Self::Object(view) => Some(view),
            Self::Broken(_) => None,
        }
    }

    pub(super) fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Object(view) => view.owner(),
            Self::Broken(broken) => broken.meta.controller.as_ref().map(|c| &c.owner),
        }
    }

    /// Since when it reads otherwise than it did, though nobody has written another spec: by a CRD that has changed.
    #[must_use]
    pub fn reread(&self) -> Option<Instant> {
        match self {
            Self::Object(view) => view.reread(),
            Self::Broken(broken) => broken.reread,
        }
    }

    /// Takes over from the version `before` what is still so and not told any more.
    pub(super) fn carry_over(&mut self, before: Option<&Self>, now: Instant) {
        let before = before.filter(|before| before.meta().uid == self.meta().uid);
        match self {
            Self::Object(view) => {
                if let Some(view) = Arc::get_mut(view) {
                    view.carry_over(before.and_then(Self::object), now);
                }
            }
            Self::Broken(broken) => {
                let before = before.filter(|before| before.meta().generation == broken.meta.generation);
                if let (Some(broken), Some(before)) = (Arc::get_mut(broken), before) {
                    broken.reread = match before {
                        Self::Broken(before) => before.reread,
                        Self::Object(_) => Some(now),
                    };
                }
            }
        }
    }

    pub(super) fn kept(&self) -> bool {
        matches!(self, Self::Broken(_)) || matches!(self, Self::Object(view) if view.kept())
    }

    /// Whether nothing differs that only others write.
    pub(super) fn only_own_fields_changed(&self, before: &Self) -> bool {
        let (now, then) = (self.meta(), before.meta());
        let same_object = now.uid == then.uid && now.deleting == then.deleting;
        same_object
            && match (self, before) {
                (Self::Object(now), Self::Object(before)) => now.only_own_fields_changed(before),
                (Self::Broken(_), Self::Broken(_)) => true,
                _ => false,
            }
    }

    pub(super) fn unchanged(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Object(now), Self::Object(before)) => unchanged(&**now, &**before),
            (Self::Broken(now), Self::Broken(before)) => {
                now.error == before.error
                    && now.meta.uid == before.meta.uid
                    && now.meta.generation == before.meta.generation
            }
            _ => false,
        }
    }
}
