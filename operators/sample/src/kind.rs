//! The kind, as the runtime reads it.

use runtime::plan::ResourceKind;
use runtime::projections::{Custom, CustomKind};

/// The kind Sample.
#[derive(Debug)]
pub enum SampleKind {}

impl CustomKind for SampleKind {
    const KIND: ResourceKind =
        ResourceKind { group: api::GROUP, version: "v1alpha1", kind: "Sample", plural: "samples" };
    type Spec = api::sample::SampleFields;
    type Status = api::sample::SampleStatus;

    /// A Sample has no `spec`: its fields are at the top level.
    fn spec(json: &str) -> serde_json::Result<Self::Spec> {
        serde_json::from_str(json)
    }
}

/// A Sample as a projection.
pub type Sample = Custom<SampleKind>;
