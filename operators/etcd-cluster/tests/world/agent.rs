//! The agent in the pods of the world, by the rules of `operators/agent/src/etcd/plan.rs`.

use etcd_cluster::plan::ListedMember;
use serde_json::json;

use crate::pods::PodSeen;
use crate::raft::{Data, Etcds};

/// How a container ended: exit code and termination message.
pub type Ended = (i32, String);

/// The termination message of the init step. The file system has less than the PVC requests, which is 1Gi in the world.
pub const MEASURED: &str = r#"{"volumeBytes":1054257152}"#;

/// Whether the members that answer list a member.
enum Listing {
    Silence,
    NotListed,
    Listed(Vec<ListedMember>, u64),
    Started,
    Disagreement,
}

/// `agent etcd-wait`: whether the wait is over.
pub fn wait(etcds: &Etcds, pod: &PodSeen) -> Result<bool, Ended> {
    match pod.expect.as_str() {
        _ if etcds.volumes.contains_key(&pod.volume) => Ok(true),
        "new" => Ok(true),
        "join" => match listing(etcds, pod) {
            Listing::Listed(..) => Ok(true),
            Listing::Started => Err(missing("the cluster lists it as started before, and its data is lost")),
            Listing::Silence | Listing::NotListed | Listing::Disagreement => Ok(false),
        },
        _ => Err(missing("it has been in use, and its data is lost")),
    }
}

/// `agent etcd-run`: the data to start on.
pub fn run(etcds: &mut Etcds, pod: &PodSeen, had_data: bool) -> Result<Data, Ended> {
    if let Some(data) = etcds.volumes.get(&pod.volume) {
        return Ok(data.clone());
    }
    match (pod.expect.as_str(), had_data) {
        (_, true) => Err(missing("etcd has run in this pod before, and its data is lost")),
        ("new", _) => Ok(etcds.found(pod)),
        ("join", _) => match listing(etcds, pod) {
            Listing::Listed(members, cluster) => {
                let member =
                    members.iter().find(|member| member.peer_urls.contains(&pod.url)).map_or(0, |member| member.id);
                Ok(Data { cluster, member, index: 0, members, broken: false })
            }
            Listing::Started => Err(missing("the cluster lists it as started before, and its data is lost")),
            _ => Err((1, json!({ "reason": "NotListed", "message": "not listed within 30 s" }).to_string())),
        },
        _ => Err(missing("it has been in use, and its data is lost")),
    }
}

fn missing(why: &str) -> Ended {
    (3, json!({ "reason": "DataMissing", "message": why }).to_string())
}

/// Queries all other members that can be reached. Some of them may lag behind.
fn listing(etcds: &Etcds, pod: &PodSeen) -> Listing {
    let others = etcds.processes.iter().filter(|(name, process)| **name != pod.name && process.reachable);
    let lists: Vec<&Data> = others.filter_map(|(name, _)| etcds.data(name)).collect();
    if lists.is_empty() {
        return Listing::Silence;
    }
    let listed = || lists.iter().flat_map(|data| &data.members).filter(|member| member.peer_urls.contains(&pod.url));
    let (started, fresh) =
        (listed().any(|member| !member.name.is_empty()), listed().any(|member| member.name.is_empty()));
    match (started, fresh) {
        (true, true) => Listing::Disagreement,
        (true, false) => Listing::Started,
        (false, false) => Listing::NotListed,
        (false, true) => {
            let knows = |data: &&&Data| data.members.iter().any(|member| member.peer_urls.contains(&pod.url));
            let list = lists.iter().find(knows);
            list.map_or(Listing::NotListed, |data| Listing::Listed(data.members.clone(), data.cluster))
        }
    }
}
