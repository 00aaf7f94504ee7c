//! Pods of ours. Only those in trouble are kept: healthy pods are counted by their own controllers.

use serde::Deserialize;

use crate::cache::View;
use crate::plan::meta::{Kind, Meta, Owner};
use crate::plan::trouble::{self, WirePod};

pub use crate::plan::trouble::Trouble;

/// A pod in trouble.
#[derive(Debug)]
pub struct Pod {
    /// Who it is.
    pub meta: Meta,
    owner: Option<Owner>,
    /// What is wrong; `None` for a pod that is not kept.
    pub trouble: Option<Trouble>,
}

impl View for Pod {
    const KIND: Kind = Kind { group: "", version: "v1", kind: "Pod", plural: "pods" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Wire {
            metadata: Meta,
        }
        let Wire { metadata } = serde_json::from_str(json)?;
        let pod: WirePod = serde_json::from_str(json)?;
        Ok(Self { owner: pod.owner(), trouble: trouble::of(&pod, metadata.deleting), meta: metadata })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn owner(&self) -> Option<&Owner> {
        self.owner.as_ref().or_else(|| self.meta.controller.as_ref().map(|c| &c.owner))
    }

    fn same(&self, before: &Self) -> bool {
        self.trouble == before.trouble
    }

    fn kept(&self) -> bool {
        self.trouble.is_some()
    }
}
