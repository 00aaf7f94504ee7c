//! Pure: children of which only identity and drift matter.

use std::marker::PhantomData;

use tokio::time::Instant;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Meta, ResourceKind};

use super::applied_child::AppliedChild;
use super::managed_fields::ManagedFieldsReader;

/// A child of which only identity and drift matter.
#[derive(Debug)]
pub struct PlainChild<K> {
    /// Its metadata.
    pub meta: Meta,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// Additions of others in exclusive places.
    pub additions: Additions,
    /// Whether it cannot be changed: a user has made a ConfigMap immutable, which cannot be undone.
    pub immutable: bool,
    /// The ports of a Service as we sent them, as JSON; `None` if others have changed, removed or added any.
    pub ports: Option<Box<str>>,
    kind: PhantomData<fn() -> K>,
}

/// Names the kind of a [`PlainChild`].
pub trait ChildKind: 'static {
    /// The kind.
    const KIND: ResourceKind;
}

impl<K: ChildKind> Projection for PlainChild<K> {
    const KIND: ResourceKind = K::KIND;
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let live = ManagedFieldsReader::read(json)?;
        let (fingerprint, additions, parts) = live.compare_parts(&K::KIND)?;
        let immutable = live.field::<Option<bool>>("immutable")?.unwrap_or(false);
        let ports = if K::KIND == ServiceKind::KIND { live.ports(&parts) } else { None };
        Ok(Self { fingerprint, additions, immutable, ports, meta: live.meta, kind: PhantomData })
    }

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    fn carry_over(&mut self, before: Option<&Self>, _now: Instant) {
        self.additions.carry_over(before.map(|before| &before.additions));
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.immutable == before.immutable
            && self.ports == before.ports
    }
}

impl<K: ChildKind> AppliedChild for PlainChild<K> {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}

macro_rules! child {
    ($(#[doc = $doc:literal] $alias:ident = $marker:ident, $group:literal, $version:literal, $kind:literal, $plural:literal;)*) => {$(
        #[doc = concat!("Marks the kind ", $kind, ".")]
        #[derive(Debug)]
        pub enum $marker {}
        impl ChildKind for $marker {
            const KIND: ResourceKind = ResourceKind { group: $group, version: $version, kind: $kind, plural: $plural };
        }
        #[doc = $doc]
        pub type $alias = PlainChild<$marker>;
    )*};
}

child! {
    /// A Service.
    Service = ServiceKind, "", "v1", "Service", "services";
    /// A ConfigMap.
    ConfigMap = ConfigMapKind, "", "v1", "ConfigMap", "configmaps";
    /// A PodDisruptionBudget.
    DisruptionBudget = DisruptionBudgetKind, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets";
}
