//! One object as a store holds it: decoded, or undecodable.

use std::sync::Arc;

use api::Contract;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::projection::{Projection, is_unchanged};
use crate::plan::meta::{Meta, Owner};

/// What a store holds under a key.
pub enum CacheEntry<V> {
    /// An object that decoded.
    Object(Arc<V>),
    /// An object that did not.
    Undecodable(Arc<Undecodable>),
}

impl<V> Clone for CacheEntry<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Object(view) => Self::Object(view.clone()),
            Self::Undecodable(undecodable) => Self::Undecodable(undecodable.clone()),
        }
    }
}

/// An object of an unexpected shape: of an older schema, or junk.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecodable {
    /// Its metadata.
    pub meta: Meta,
    /// Why it does not decode.
    pub error: String,
    /// The common part of its status, as far as that decodes.
    pub contract: Contract,
    /// Its complete status, as the API server sent it.
    pub status: Map<String, Value>,
    /// When it stopped decoding, within one generation.
    pub(super) reread: Option<Instant>,
}

impl<V: Projection> CacheEntry<V> {
    /// Reads one object as the API server sends it.
    ///
    /// # Errors
    /// If it has no name.
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
                Ok(Self::Undecodable(Arc::new(Undecodable {
                    meta: metadata,
                    error: error.to_string(),
                    contract,
                    status,
                    reread: None,
                })))
            }
        }
    }

    /// Its metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        match self {
            Self::Object(view) => view.meta(),
            Self::Undecodable(undecodable) => &undecodable.meta,
        }
    }

    /// The object, if it decoded.
    #[must_use]
    pub fn into_object(self) -> Option<Arc<V>> {
        match self {
            Self::Object(view) => Some(view),
            Self::Undecodable(_) => None,
        }
    }

    pub(super) fn object(&self) -> Option<&V> {
        match self {
            Self::Object(view) => Some(view),
            Self::Undecodable(_) => None,
        }
    }

    pub(super) fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Object(view) => view.owner(),
            Self::Undecodable(undecodable) => undecodable.meta.controller.as_ref().map(|c| &c.owner),
        }
    }

    /// When its decoded spec changed within one generation, that is, through a change of the CRD.
    #[must_use]
    pub fn reread(&self) -> Option<Instant> {
        match self {
            Self::Object(view) => view.reread(),
            Self::Undecodable(undecodable) => undecodable.reread,
        }
    }

    /// Carries over from the version `before` what still holds and is no longer sent.
    pub(super) fn carry_over(&mut self, before: Option<&Self>, now: Instant) {
        let before = before.filter(|before| before.meta().uid == self.meta().uid);
        match self {
            Self::Object(view) => {
                if let Some(view) = Arc::get_mut(view) {
                    view.carry_over(before.and_then(Self::object), now);
                }
            }
            Self::Undecodable(undecodable) => {
                let before = before.filter(|before| before.meta().generation == undecodable.meta.generation);
                if let (Some(undecodable), Some(before)) = (Arc::get_mut(undecodable), before) {
                    undecodable.reread = match before {
                        Self::Undecodable(before) => before.reread,
                        Self::Object(_) => Some(now),
                    };
                }
            }
        }
    }

    pub(super) fn is_retained(&self) -> bool {
        matches!(self, Self::Undecodable(_)) || matches!(self, Self::Object(view) if view.is_retained())
    }

    /// Whether no field differs that only others write.
    pub(super) fn only_own_fields_changed(&self, before: &Self) -> bool {
        let (now, then) = (self.meta(), before.meta());
        let same_object = now.uid == then.uid && now.deleting == then.deleting;
        same_object
            && match (self, before) {
                (Self::Object(now), Self::Object(before)) => now.only_own_fields_changed(before),
                (Self::Undecodable(_), Self::Undecodable(_)) => true,
                _ => false,
            }
    }

    pub(super) fn is_unchanged(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Object(now), Self::Object(before)) => is_unchanged(&**now, &**before),
            (Self::Undecodable(now), Self::Undecodable(before)) => {
                now.error == before.error
                    && now.meta.uid == before.meta.uid
                    && now.meta.generation == before.meta.generation
            }
            _ => false,
        }
    }
}
