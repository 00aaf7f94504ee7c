//! The applications that write to databases: through the Service, with the password of their Secret.

use std::time::Duration;

use jiff::Timestamp;

use super::connection::selected_pod;
use super::model::PostgresServers;
use crate::actors::Actor;
use crate::api_server::service::SimulatedApiServer;
use crate::api_server::state::StoredState;
use crate::objects::{has_ready, objects, secret_entry};
use crate::random::Random;

/// How often an application writes.
const INTERVAL: Duration = Duration::from_secs(5);
/// What follows the name of a database in that of its Service, and of the Secret.
const SERVICE: &str = "-rw";
const SECRET: &str = "-app";

/// All applications.
pub(super) struct Applications(PostgresServers);

impl Applications {
    pub(super) fn new(servers: PostgresServers) -> Self {
        Self(servers)
    }
}

impl Actor for Applications {
    fn name(&self) -> &'static str {
        "applications"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["sampledbs"]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let databases: Vec<Database> = server.read(|state| databases(state).collect());
        for database in &databases {
            self.0.write(&database.name, &database.pod, &database.password);
        }
        server.read(|state| objects(state, "sampledbs").next().is_some()).then_some(INTERVAL)
    }
}

/// A database that an application can reach.
struct Database {
    name: String,
    /// The uid of the pod of its server.
    pod: String,
    password: String,
}

fn databases(state: &StoredState) -> impl Iterator<Item = Database> {
    objects(state, "services").filter_map(|(service, object)| {
        let name = service.strip_suffix(SERVICE)?;
        let named = selected_pod(object)?;
        let (_, pod) = objects(state, "pods").find(|(pod, _)| *pod == named).filter(|(_, pod)| has_ready(pod))?;
        let (_, secret) = objects(state, "secrets").find(|(secret, _)| secret.strip_suffix(SECRET) == Some(name))?;
        let pod = pod["metadata"]["uid"].as_str()?.to_owned();
        Some(Database { name: name.to_owned(), pod, password: secret_entry(secret, "password")? })
    })
}

impl PostgresServers {
    /// An application writes a row to the server of a pod, if that lets it.
    pub(super) fn write(&self, database: &str, pod: &str, password: &str) {
        let mut state = self.lock();
        let state = &mut *state;
        let volume = state.servers.get(pod).map(|running| &running.server.volume);
        let Some(data) = volume.and_then(|volume| state.data.get_mut(volume)) else { return };
        if data.blocks_clients || data.app_password.as_deref() != Some(password) {
            return;
        }
        let acknowledged = state.acknowledged.entry(database.to_owned()).or_default();
        if data.rows < *acknowledged {
            let what = format!("{database} serves data without the rows from {} to {acknowledged}", data.rows + 1);
            state.violations.push(what);
        }
        *acknowledged += 1;
        data.rows = *acknowledged;
    }
}
