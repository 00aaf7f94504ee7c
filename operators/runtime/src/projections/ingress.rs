//! Pure: Ingresses of ours.

use std::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Kind, Meta};

use super::kept::Kept;
use super::managed_fields::ManagedFieldsReader;

/// An Ingress of ours: identity, drift, and where it can be reached.
#[derive(Debug)]
pub struct Ingress {
    /// Who it is.
    pub meta: Meta,
    /// What of it is ours.
    pub fingerprint: Fingerprint,
    /// What others have added where all is ours.
    pub additions: Additions,
    /// When what is ours was last changed by us, in the API server's time.
    pub applied: Option<Timestamp>,
    /// Whether its class is ours: an apply that sends none takes it away.
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
    const KIND: Kind = Kind { group: "networking.k8s.io", version: "v1", kind: "Ingress", plural: "ingresses" };
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

    fn same(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.owns_class == before.owns_class
            && self.addresses == before.addresses
    }
}

impl Kept for Ingress {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}
