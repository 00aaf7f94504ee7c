//! Pure: server pods whose labels were edited by hand, and foreign pods with such labels. By its labels a pod is watched, kept by
//! its StatefulSet, and reached by clients; but its owner and its init container say to which database it belongs.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent_protocol::PgPrepare;
use runtime::cache::Projection;
use runtime::plan::{Apply, Key};
use runtime::projections::{Pod, StatefulSet};
use serde_json::Value;

use super::observed::Observed;
use super::{objects, ownership};
use crate::operand::kinds::SampleDB;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// The StatefulSets of the database.
fn sets(observed: &Observed) -> impl Iterator<Item = &StatefulSet> {
    observed.servers.iter().map(|set| &**set).filter(|set| set.meta.controlled_by(&observed.db.meta.uid))
}

/// The names of the StatefulSets whose pods to find: of the existing ones, and of the server of existing data.
fn servers(observed: &Observed) -> BTreeSet<&str> {
    let db = &*observed.db;
    let latched = db.status.initialization.data_created_at.is_some().then(|| names::server(db));
    sets(observed).map(|set| &*set.meta.key.name).chain(latched).collect()
}

/// The pods of servers that are not terminating.
fn pods(observed: &Observed) -> impl Iterator<Item = (&str, &Pod)> {
    let pod = |server| Some((server, observed.pod_named(&names::pod_of(server)).filter(|pod| !pod.meta.deleting)?));
    servers(observed).into_iter().filter_map(pod)
}

/// The names of server pods that the watch does not show, or not as pods of their StatefulSets.
#[must_use]
pub fn unwatched_pods(observed: &Observed) -> Vec<String> {
    let controlled = |pod: &Pod| sets(observed).any(|set| pod.meta.controlled_by(&set.meta.uid));
    let seen = |name: &String| observed.pod_named(name).is_some_and(|pod| pod.details.is_some() && controlled(pod));
    servers(observed).into_iter().map(names::pod_of).filter(|name| !seen(name)).collect()
}

/// The pod that was read by the name of a server's pod, if it is the database's own: no other StatefulSet controls it, and its
/// init container names the database. The StatefulSet's controller releases a pod that lacks a label of its selector.
fn own(db: &SampleDB, live: &Value) -> Option<Arc<Pod>> {
    let pod = Pod::with_details(&live.to_string()).ok()?;
    let server = pod.meta.key.name.strip_suffix("-0")?;
    let kind = StatefulSet::KIND.qualified();
    let controlled = pod.meta.controller.as_ref();
    let unclaimed = controlled.is_none_or(|by| *by.owner.kind == *kind && *by.owner.name == *server);
    let steps = live["spec"]["initContainers"].as_array().into_iter().flatten();
    let arguments = steps.filter_map(|step| step["command"].as_array()).flatten().filter_map(Value::as_str);
    let mut owners = arguments.filter_map(|argument| PgPrepare::owner_in([argument]));
    let named = owners.any(|uid| ownership::is_own_uid(db, uid));
    (unclaimed && named).then(|| Arc::new(pod))
}

/// What a live read finds under the name of a server's pod.
#[derive(Clone, Debug)]
pub enum NamedPod {
    /// No pod.
    Absent,
    /// The database's own pod, with the labels that it has.
    Own(Arc<Pod>),
    /// A foreign pod.
    Foreign,
}

impl NamedPod {
    /// Classifies what was read by that name.
    #[must_use]
    pub fn of(db: &SampleDB, live: Option<&Value>) -> Self {
        match live.map(|live| own(db, live)) {
            None => Self::Absent,
            Some(None) => Self::Foreign,
            Some(Some(pod)) => Self::Own(pod),
        }
    }
}

/// Merges what was found under the name of a server's pod, replacing what the watch shows of it.
pub fn merge(observed: &mut Observed, name: String, found: NamedPod) {
    observed.pods.retain(|pod| *pod.meta.key.name != *name);
    match found {
        NamedPod::Absent => {}
        NamedPod::Own(pod) => observed.pods.push(pod),
        NamedPod::Foreign => drop(observed.taken_names.insert(name)),
    }
}

/// Repairs of the labels of server pods.
pub(super) fn repairs(observed: &Observed) -> Vec<Apply> {
    pods(observed).filter_map(|(server, pod)| objects::labeled(&observed.db, pod, server)).collect()
}

/// Whether all server pods have the owner label, which foreign pods with the other labels lack. Those of an earlier manager get
/// it while they run.
pub(super) fn can_be_selected_by_owner(observed: &Observed) -> bool {
    let uid = &*observed.db.meta.uid;
    pods(observed)
        .filter_map(|(_, pod)| pod.details.as_ref())
        .all(|running| running.labels.get(OWNER_UID).is_some_and(|owner| **owner == *uid))
}

/// A pod that is not the server's, and bears all labels by which the applications' Service selects that.
pub(super) fn foreign_pod(observed: &Observed) -> Option<&Pod> {
    let wanted = objects::serving(&observed.db, can_be_selected_by_owner(observed));
    let bears = |pod: &&Pod| {
        let labels = pod.details.as_ref().map(|running| &running.labels);
        labels.is_some_and(|labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    let others = observed.pods.iter().map(|pod| &**pod);
    others.filter(|pod| *pod.meta.key.name != *names::pod(&observed.db)).find(bears)
}

/// The StatefulSet of a server pod that is not terminating, if the watch does not show it: it may have lost a label, and
/// recreates the pod for as long as it exists.
#[must_use]
pub fn unwatched_set(observed: &Observed) -> Option<Key> {
    let servers = observed.pods.iter().filter(|pod| names::is_server_pod(&observed.db, &pod.meta.key.name));
    servers.filter(|pod| !pod.meta.deleting).find_map(|pod| {
        let by = pod.meta.controller.as_ref().filter(|by| *by.owner.kind == *StatefulSet::KIND.qualified())?;
        let seen = observed.servers.iter().any(|set| set.meta.uid == by.uid);
        (!seen).then(|| pod.meta.key.sibling(&by.owner.name))
    })
}

/// What to do about a server pod that cannot be created because its name is taken.
pub(super) fn name_taken(pod: &str) -> String {
    format!("Pod {pod} exists and does not belong to this SampleDB: delete it; it is left untouched")
}
