//! Pure: Pods of servers whose labels were edited by hand, and foreign pods that bear such labels. By its labels a pod is watched,
//! kept by its StatefulSet, and reached by clients; but its owner and its init step say to which database it belongs.

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

/// The StatefulSets of the database that are there.
fn sets(observed: &Observed) -> impl Iterator<Item = &StatefulSet> {
    observed.servers.iter().map(|set| &**set).filter(|set| set.meta.controlled_by(&observed.db.meta.uid))
}

/// The names of the StatefulSets whose pods are looked for: of those that are there, and the one of data that have been made.
fn servers(observed: &Observed) -> BTreeSet<&str> {
    let db = &*observed.db;
    let made = db.status.initialization.data_created_at.is_some().then(|| names::server(db));
    sets(observed).map(|set| &*set.meta.key.name).chain(made).collect()
}

/// The pods of servers that stay.
fn pods(observed: &Observed) -> impl Iterator<Item = (&str, &Pod)> {
    let pod = |server| Some((server, observed.pod_named(&names::pod_of(server)).filter(|pod| !pod.meta.deleting)?));
    servers(observed).into_iter().filter_map(pod)
}

/// The names of servers' pods that the watch does not show, or not as pods of their StatefulSets.
#[must_use]
pub fn unseen(observed: &Observed) -> Vec<String> {
    let controlled = |pod: &Pod| sets(observed).any(|set| pod.meta.controlled_by(&set.meta.uid));
    let seen = |name: &String| observed.pod_named(name).is_some_and(|pod| pod.running.is_some() && controlled(pod));
    servers(observed).into_iter().map(names::pod_of).filter(|name| !seen(name)).collect()
}

/// The pod that was read by the name of a server's pod, if it is the database's own: no other StatefulSet's, and made for its
/// data, as its init step says. The StatefulSet's controller gives up a pod that lacks a label of its selector.
fn own(db: &SampleDB, live: &Value) -> Option<Arc<Pod>> {
    let pod = Pod::whole(&live.to_string()).ok()?;
    let server = pod.meta.key.name.strip_suffix("-0")?;
    let kind = StatefulSet::KIND.qualified();
    let controlled = pod.meta.controller.as_ref();
    let kept = controlled.is_none_or(|by| *by.owner.kind == *kind && *by.owner.name == *server);
    let steps = live["spec"]["initContainers"].as_array().into_iter().flatten();
    let words = steps.filter_map(|step| step["command"].as_array()).flatten().filter_map(Value::as_str);
    let mut owners = words.filter_map(|word| PgPrepare::owner_in([word]));
    let made = owners.any(|uid| ownership::is_own_uid(db, uid));
    (kept && made).then(|| Arc::new(pod))
}

/// What a live look finds under the name of a server's pod.
#[derive(Clone, Debug)]
pub enum Found {
    /// No pod.
    Nothing,
    /// The database's own pod, with the labels that it has.
    Own(Arc<Pod>),
    /// A pod of others.
    Taken,
}

impl Found {
    /// Judges what was read by that name.
    #[must_use]
    pub fn of(db: &SampleDB, live: Option<&Value>) -> Self {
        match live.map(|live| own(db, live)) {
            None => Self::Nothing,
            Some(None) => Self::Taken,
            Some(Some(pod)) => Self::Own(pod),
        }
    }
}

/// Takes in what was found under the name of a server's pod, instead of what the watch shows of it.
pub fn take_in(observed: &mut Observed, name: String, found: Found) {
    observed.pods.retain(|pod| *pod.meta.key.name != *name);
    match found {
        Found::Nothing => {}
        Found::Own(pod) => observed.pods.push(pod),
        Found::Taken => drop(observed.taken.insert(name)),
    }
}

/// The labels of servers' pods that are not as they should be, put right.
pub(super) fn repairs(observed: &Observed) -> Vec<Apply> {
    pods(observed).filter_map(|(server, pod)| objects::labeled(&observed.db, pod, server)).collect()
}

/// Whether all servers' pods have the label that no foreign pod with the other labels has. Those of an earlier manager get it
/// while they run.
pub(super) fn can_be_selected_by_owner(observed: &Observed) -> bool {
    let uid = &*observed.db.meta.uid;
    pods(observed)
        .filter_map(|(_, pod)| pod.running.as_ref())
        .all(|running| running.labels.get(OWNER_UID).is_some_and(|owner| **owner == *uid))
}

/// A pod that is not the server's, and bears all labels by which the Service of applications finds that.
pub(super) fn foreign(observed: &Observed) -> Option<&Pod> {
    let wanted = objects::serving(&observed.db, can_be_selected_by_owner(observed));
    let bears = |pod: &&Pod| {
        let labels = pod.running.as_ref().map(|running| &running.labels);
        labels.is_some_and(|labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    let others = observed.pods.iter().map(|pod| &**pod);
    others.filter(|pod| *pod.meta.key.name != *names::pod(&observed.db)).find(bears)
}

/// The StatefulSet of a server's pod that stays, if the watch does not show it: it may have lost a label, and makes the pod again
/// for as long as it is there.
#[must_use]
pub fn unseen_set(observed: &Observed) -> Option<Key> {
    let servers = observed.pods.iter().filter(|pod| names::is_server(&observed.db, &pod.meta.key.name));
    servers.filter(|pod| !pod.meta.deleting).find_map(|pod| {
        let by = pod.meta.controller.as_ref().filter(|by| *by.owner.kind == *StatefulSet::KIND.qualified())?;
        let seen = observed.servers.iter().any(|set| set.meta.uid == by.uid);
        (!seen).then(|| pod.meta.key.sibling(&by.owner.name))
    })
}

/// What to say where a server's pod cannot be made because its name is taken.
pub(super) fn name_taken(pod: &str) -> String {
    format!("Pod {pod} exists and does not belong to this SampleDB: delete it; it is left untouched")
}
