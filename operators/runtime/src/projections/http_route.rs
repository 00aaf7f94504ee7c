//! Pure: HTTPRoutes of ours. Their kind is of the Gateway API, whose CRDs a cluster may do without.

use std::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Kind, Meta};

use super::kept::Kept;
use super::managed_fields::ManagedFieldsReader;

/// An HTTPRoute of ours: identity, drift, and what the controllers of its gateways say of it.
#[derive(Debug)]
pub struct HttpRoute {
    /// Who it is.
    pub meta: Meta,
    /// What of it is ours.
    pub fingerprint: Fingerprint,
    /// What others have added where all is ours.
    pub additions: Additions,
    /// What it asks for, by whomever. All that the API server would fill in is rendered.
    pub spec: Fingerprint,
    /// When what is ours was last changed by us, in the API server's time.
    pub applied: Option<Timestamp>,
    /// A word of each controller that has one of its gateways.
    pub parents: Vec<RouteParent>,
}

/// What one controller says of a route and a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteParent {
    /// The gateway.
    #[serde(rename = "parentRef")]
    pub gateway: ParentRef,
    /// What is said.
    pub conditions: Vec<RouteCondition>,
}

/// A gateway, and one of its listeners, as a route names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParentRef {
    /// Its name.
    pub name: Box<str>,
    /// Its namespace, unless it is the route's.
    pub namespace: Option<Box<str>>,
    /// Its listener, if one is named.
    pub section_name: Option<Box<str>>,
}

/// One aspect of a route, as metav1.Condition has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteCondition {
    /// The aspect.
    #[serde(rename = "type")]
    pub type_: Box<str>,
    /// True, False or Unknown.
    pub status: Box<str>,
    /// In one word.
    pub reason: Box<str>,
    /// In words.
    pub message: Box<str>,
    /// The generation of the route that it was judged by.
    pub observed_generation: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    parents: Option<Vec<RouteParent>>,
}

impl Projection for HttpRoute {
    const KIND: Kind =
        Kind { group: "gateway.networking.k8s.io", version: "v1", kind: "HTTPRoute", plural: "httproutes" };
    const SELECTED: bool = true;
    const MAY_BE_MISSING: bool = true;

    fn decode(json: &str) -> serde_json::Result<Self> {
        let live = ManagedFieldsReader::read(json)?;
        let (fingerprint, additions) = live.compare(&Self::KIND)?;
        let status = live.field::<Option<Status>>("status")?.unwrap_or_default();
        let (spec, applied, parents) = (live.spec()?, live.applied(), status.parents.unwrap_or_default());
        Ok(Self { fingerprint, additions, spec, applied, parents, meta: live.meta })
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
        self.parents == before.parents
    }

    fn same(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.spec == before.spec
            && self.parents == before.parents
    }
}

impl Kept for HttpRoute {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}
