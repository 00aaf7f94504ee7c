//! What must be true of databases, whatever happens: no acknowledged row is lost, no manager deletes data, and each database is
//! served at the end.

use serde_json::Value;

use super::model::PostgresState;
use crate::api_server::state::StoredState;
use crate::objects::objects;

/// What is not so.
pub(super) fn violations(servers: &PostgresState, state: &StoredState) -> Vec<String> {
    let mut found = servers.violations.clone();
    found.dedup();
    found.extend(deleted_claims(servers, state));
    for (name, object) in objects(state, "sampledbs") {
        found.extend(at_the_end(servers, state, name, object));
    }
    found
}

/// The PVCs with data that managers deleted.
fn deleted_claims(servers: &PostgresState, state: &StoredState) -> Vec<String> {
    let kind = state.kinds().plural("persistentvolumeclaims");
    let of_managers = state.audit().iter().filter(|entry| {
        entry.verb == "delete" && entry.changed && Some(entry.kind) == kind && entry.user.starts_with("manager-")
    });
    let has_data = |claim: &Value| claim["metadata"]["uid"].as_str().is_some_and(|uid| servers.data.contains_key(uid));
    let with_data = of_managers.filter(|entry| entry.after.as_deref().is_some_and(has_data));
    with_data.map(|entry| format!("{} deleted the PVC {} with data", entry.user, entry.key.1)).collect()
}

/// What of a database is not as it must be at the end.
fn at_the_end(servers: &PostgresState, state: &StoredState, name: &str, object: &Value) -> Option<String> {
    let claim = object["status"]["storage"]["claim"].as_str();
    let live = objects(state, "persistentvolumeclaims").find(|(of, _)| claim == Some(of));
    let uid = live.and_then(|(_, live)| live["metadata"]["uid"].as_str()).unwrap_or_default();
    let Some(data) = servers.data.get(uid) else {
        return Some(format!("at the end, the PVC of {name} has no data: {claim:?}"));
    };
    if !servers.servers.values().any(|running| running.server.volume == uid) {
        return Some(format!("at the end, no server serves the data of {name}"));
    }
    let Some(acknowledged) = servers.acknowledged.get(name).copied() else {
        return Some(format!("at the end, no application has written to {name}"));
    };
    (data.rows < acknowledged)
        .then(|| format!("at the end, {name} has {} of {acknowledged} acknowledged rows", data.rows))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::super::model::{PostgresServer, PostgresServers};
    use super::*;
    use crate::actors;
    use crate::actors::client::{Client, Target};
    use crate::actors::testing;
    use crate::api_server::request::DeleteOptions;
    use crate::api_server::service::SimulatedApiServer;
    use crate::objects::NAMESPACE;
    use crate::random::Random;

    /// A database with a PVC, and the uid of that.
    fn database() -> (SimulatedApiServer, String) {
        let server = testing::server();
        let mut actors = actors::all(Vec::new());
        testing::create(&server, "namespaces", json!({ "metadata": { "name": NAMESPACE } }));
        testing::create(&server, "storageclasses", json!({ "metadata": { "name": "disk" }, "provisioner": "p" }));
        let resources = json!({ "requests": { "storage": "1Gi" } });
        let spec = json!({ "storageClassName": "disk", "accessModes": ["ReadWriteOnce"], "resources": resources });
        let metadata = json!({ "name": "data-shop-0", "namespace": NAMESPACE });
        testing::create(&server, "persistentvolumeclaims", json!({ "metadata": metadata, "spec": spec }));
        testing::settle(&server, &mut actors, runtime::clock::now());
        let claim = claim(&server);
        (server, claim["metadata"]["uid"].as_str().unwrap().to_owned())
    }

    fn claim(server: &SimulatedApiServer) -> Value {
        server.read(|state| objects(state, "persistentvolumeclaims").next().unwrap().1.clone())
    }

    #[test]
    fn lost_rows_and_a_database_that_is_not_served_are_found() {
        let (server, uid) = database();
        let servers = PostgresServers::new(Random::new(1));
        let object = json!({ "status": { "storage": { "claim": "data-shop-0" } } });
        let found = || server.read(|state| at_the_end(&servers.lock(), state, "shop", &object)).unwrap_or_default();
        assert!(found().contains("has no data"), "{}", found());
        servers.initialize(&uid, "s");
        servers.edit(&uid, |data| data.app_password = Some("a".to_owned()));
        assert!(found().contains("no server serves"), "{}", found());
        servers.start("p", PostgresServer { volume: uid.clone(), version: String::new(), mounted: BTreeMap::new() });
        assert!(found().contains("no application has written"), "{}", found());
        servers.write("shop", "p", "wrong");
        servers.write("shop", "p", "a");
        servers.write("shop", "p", "a");
        assert_eq!(found(), "");
        servers.edit(&uid, |data| data.rows = 1);
        assert_eq!(found(), "at the end, shop has 1 of 2 acknowledged rows");
        servers.write("shop", "p", "a");
        assert_eq!(servers.lock().violations, ["shop serves data without the rows from 2 to 2"]);
    }

    #[test]
    fn the_deletion_of_a_claim_with_data_is_found() {
        let (server, uid) = database();
        let servers = PostgresServers::new(Random::new(1));
        servers.initialize(&uid, "s");
        let client = Client::new(&server, "manager-0");
        let kind = client.kind("persistentvolumeclaims").unwrap();
        let claim = claim(&server);
        client.delete(Target::of(kind, &claim), DeleteOptions::default()).unwrap();
        let found = server.read(|state| deleted_claims(&servers.lock(), state));
        assert_eq!(found, ["manager-0 deleted the PVC data-shop-0 with data"]);
    }
}
