//! Pure: our HTTPRoutes. The CRDs of the Gateway API are optional.

use tokio::time::Instant;

use jiff::Timestamp;
use serde::Deserialize;

use crate::apply::drift::{Additions, Fingerprint};
use crate::cache::Projection;
use crate::plan::meta::{Meta, ResourceKind};

use super::applied_child::AppliedChild;
use super::managed_fields::ManagedFieldsReader;

/// An HTTPRoute: identity, drift, and what the controllers of its gateways report.
#[derive(Debug)]
pub struct HttpRoute {
    /// Its metadata.
    pub meta: Meta,
    /// The fingerprint of its owned part.
    pub fingerprint: Fingerprint,
    /// Additions of others in exclusive places.
    pub additions: Additions,
    /// The fingerprint of its spec, regardless of the owners. All defaults of the API server are rendered.
    pub spec: Fingerprint,
    /// When we last changed our part, by the clock of the API server.
    pub applied: Option<Timestamp>,
    /// The report of each controller of one of its gateways.
    pub parents: Vec<RouteParent>,
}

/// What one controller reports about a route and a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteParent {
    /// The gateway.
    #[serde(rename = "parentRef")]
    pub gateway: ParentRef,
    /// Its conditions.
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

/// A condition of a route, like metav1.Condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RouteCondition {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: Box<str>,
    /// True, False or Unknown.
    pub status: Box<str>,
    /// The reason.
    pub reason: Box<str>,
    /// The message.
    pub message: Box<str>,
    /// The generation of the route that it is about.
    pub observed_generation: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    parents: Option<Vec<RouteParent>>,
}

impl Projection for HttpRoute {
    const KIND: ResourceKind =
        ResourceKind { group: "gateway.networking.k8s.io", version: "v1", kind: "HTTPRoute", plural: "httproutes" };
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

    fn has_same_content(&self, before: &Self) -> bool {
        self.fingerprint == before.fingerprint
            && self.additions == before.additions
            && self.spec == before.spec
            && self.parents == before.parents
    }
}

impl AppliedChild for HttpRoute {
    fn additions(&self) -> &Additions {
        &self.additions
    }
}
