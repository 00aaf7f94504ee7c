//! What must be true of etcd, whatever happens: no acknowledged write is lost, a cluster keeps its id, and is whole at the end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::store::Etcds;
use crate::api_server::state::StoredState;
use crate::objects::objects;

/// The labels of PVCs of removed members, and of members that have yet to vote: both may be deleted.
const EXPENDABLE: [&str; 2] = ["multi-operator.example.com/retired", "multi-operator.example.com/joining"];

/// What is not so.
pub(super) fn violations(etcds: &Etcds, state: &StoredState) -> Vec<String> {
    let mut found = etcds.violations.clone();
    found.sort();
    found.dedup();
    found.extend(changed_ids(state));
    found.extend(deleted_claims(state));
    for (name, object) in objects(state, "etcdclusters") {
        found.extend(at_the_end(etcds, name, object));
    }
    found
}

/// The id of a cluster is written once, unless its status was lost.
fn changed_ids(state: &StoredState) -> Vec<String> {
    let kind = state.kinds().plural("etcdclusters");
    let mut ids: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in state.audit().iter().filter(|entry| entry.changed && Some(entry.kind) == kind) {
        let Some(after) = &entry.after else { continue };
        let (uid, id) = (after["metadata"]["uid"].as_str(), after["status"]["clusterID"].as_str());
        let Some((uid, id)) = uid.zip(id) else { continue };
        let before = ids.insert(uid, id);
        if before.is_some_and(|before| before != id) {
            found.push(format!(
                "{} wrote that EtcdCluster {} has the id {id}, and it had another",
                entry.user, entry.key.1
            ));
        }
    }
    found
}

/// The PVCs that managers deleted although they may have data that no other has.
fn deleted_claims(state: &StoredState) -> Vec<String> {
    let kind = state.kinds().plural("persistentvolumeclaims");
    let of_managers = state.audit().iter().filter(|entry| {
        entry.verb == "delete" && entry.changed && Some(entry.kind) == kind && entry.user.starts_with("manager-")
    });
    let is_needed = |claim: &Value| {
        let labels = &claim["metadata"]["labels"];
        claim["status"]["phase"] == "Bound" && EXPENDABLE.iter().all(|label| labels[label].is_null())
    };
    // A bound PVC has the finalizer of its protection, so it still exists after the request.
    let needed = of_managers.filter(|entry| entry.after.as_deref().is_some_and(is_needed));
    needed.map(|entry| format!("{} deleted the PVC {} of a member", entry.user, entry.key.1)).collect()
}

/// What of a cluster is not as it must be at the end.
fn at_the_end(etcds: &Etcds, name: &str, object: &Value) -> Option<String> {
    let id = object["status"]["clusterID"].as_str().and_then(|id| u64::from_str_radix(id, 16).ok());
    let Some((id, cluster)) = id.and_then(|id| Some((id, etcds.clusters.get(&id)?))) else {
        return Some(format!("at the end, EtcdCluster {name} names no cluster that exists"));
    };
    let size = object["spec"]["size"].as_u64().and_then(|size| usize::try_from(size).ok());
    if cluster.leader == 0 {
        return Some(format!("at the end, the cluster of {name} has no leader"));
    }
    if Some(cluster.voters().count()) != size || Some(cluster.members.len()) != size {
        return Some(format!("at the end, {name} has other members than its size says: {:?}", cluster.members));
    }
    let have_all = cluster.members.iter().filter(|member| etcds.index(id, member.id) >= cluster.acknowledged);
    let is_lost = have_all.count() < cluster.quorum();
    is_lost.then(|| format!("at the end, no majority of the members of {name} has all acknowledged writes"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::actors;
    use crate::actors::client::{Client, Target};
    use crate::actors::testing::{self, NAMESPACE};
    use crate::api_server::request::DeleteOptions;
    use crate::random::Random;

    #[test]
    fn a_changed_id_and_a_cluster_that_does_not_exist_are_found() {
        let server = testing::server();
        let spec = json!({ "size": 1 });
        let cluster = json!({ "metadata": { "name": "data", "namespace": NAMESPACE }, "spec": spec });
        testing::create(&server, "etcdclusters", cluster);
        let client = Client::new(&server, "manager-0");
        let kind = client.kind("etcdclusters").unwrap();
        for id in ["a", "a", "b"] {
            let mut live = Value::clone(&testing::get(&server, "etcdclusters", "data").unwrap());
            live["status"] = json!({ "clusterID": id });
            client.update_status(kind, live).unwrap();
        }
        let found = server.read(changed_ids);
        assert_eq!(found, ["manager-0 wrote that EtcdCluster data has the id b, and it had another"]);
        let live = testing::get(&server, "etcdclusters", "data").unwrap();
        let etcds = Etcds::new(Random::new(1));
        assert!(at_the_end(&etcds, "data", &live).is_some_and(|what| what.contains("no cluster that exists")));
    }

    #[test]
    fn the_deletion_of_a_claim_with_data_is_found() {
        let server = testing::server();
        let mut actors = actors::all(Vec::new());
        testing::create(&server, "storageclasses", json!({ "metadata": { "name": "disk" }, "provisioner": "p" }));
        for (name, labels) in [("needed", json!({})), ("retired", json!({ EXPENDABLE[0]: "true" }))] {
            let resources = json!({ "requests": { "storage": "1Gi" } });
            let spec = json!({ "storageClassName": "disk", "accessModes": ["ReadWriteOnce"], "resources": resources });
            let metadata = json!({ "name": name, "namespace": NAMESPACE, "labels": labels });
            testing::create(&server, "persistentvolumeclaims", json!({ "metadata": metadata, "spec": spec }));
        }
        testing::settle(&server, &mut actors, runtime::clock::now());
        let client = Client::new(&server, "manager-0");
        let kind = client.kind("persistentvolumeclaims").unwrap();
        for claim in client.list(kind) {
            client.delete(Target::of(kind, &claim), DeleteOptions::default()).unwrap();
        }
        assert_eq!(server.read(deleted_claims), ["manager-0 deleted the PVC needed of a member"]);
    }
}
