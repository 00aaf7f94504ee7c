//! Pure: our Ingresses.

use tokio::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Meta, ResourceKind};

use super::applied_child::AppliedChild;
use super::managed_fields::ManagedFieldsReader;

/// An Ingress: identity, drift, and its addresses.
#[derive(Debug)]
pub struct Ingress {
    /// Its metadata.
    pub meta: Meta,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// Additions of others in exclusive places.
    pub additions: Additions,
    /// When we last changed our part, by the clock of the API server.
    pub applied: Option<Timestamp>,
    /// Whether we own its class: an apply without a class would remove it.
    pub owns_class: bool,
    /// The addresses that its controller has given it.
    pub addresses: Box<[Box<str>]>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    load_balancer: LoadBalancer,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LoadBalancer {
    ingress: Vec<Address>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Address {
    ip: Box<str>,
    hostname: Box<str>,
}

impl Projection for Ingress {
    const KIND: ResourceKind =
        ResourceKind { group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses" };
    const SELECTED: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let live = ManagedFieldsReader::read(json)?;
        let (fingerprint, additions) = live.compare(&Self::KIND)?;
        let status = live.field::<Option<Status>>("status")?.unwrap_or_default();
        let address = |address: Address| if address.hostname.is_empty() { address.ip } else { address.hostname };
        let addresses = status.load_balancer.ingress.into_iter().map(address).collect();
        let (owns_class, applied) = (live.owns("/f:spec/f:ingressClassName", false), live.applied());
        Ok(Self { fingerprint, additions, owns_class, addresses, applied, meta: live.meta })
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

    fn only_own_fields_changed(&self, before: &Self) -> bool {
        self.addresses == before.addresses
    }

    fn has_same_content(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.owns_class == before.owns_class
            && self.addresses == before.addresses
    }
}

impl AppliedChild for Ingress {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}
