//! The clients that write to clusters: through the client Service, which is there once the operator lets clients connect.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::model::EtcdModel;
use crate::actors::Actor;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

/// What follows the name of a cluster in that of its client Service.
const SUFFIX: &str = "-client";

/// The clients of all clusters.
pub(super) struct EtcdUsers(EtcdModel);

impl EtcdUsers {
    pub(super) fn new(model: EtcdModel) -> Self {
        Self(model)
    }
}

impl Actor for EtcdUsers {
    fn name(&self) -> &'static str {
        "etcd-users"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["services"]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let served = server.read(|state| {
            let kind = state.kinds().plural("services");
            let all = kind.into_iter().flat_map(|kind| state.all(kind));
            all.filter_map(|((namespace, name), service)| domain(namespace, name, service)).collect()
        });
        self.0.edit(|etcds| etcds.served = served);
        None
    }
}

/// The URL of all members of the cluster of a client Service.
fn domain(namespace: &str, service: &str, object: &Value) -> Option<String> {
    let cluster = service.strip_suffix(SUFFIX).filter(|_| object["spec"]["selector"].is_object())?;
    Some(format!("http://{cluster}.{namespace}.svc:2380"))
}
