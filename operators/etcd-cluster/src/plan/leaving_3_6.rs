//! Pure: what comes before members leave 3.6: 3.7 does not read what 3.5 left in the log, so the log is filled up to a snapshot
//! first (docs/decisions/016).

use etcd_sizing::number;

use super::Observed;
use super::objects::{TEMPLATE, VERSION};
use super::roster::{Node, Roster};
use super::version::Version;
use crate::EtcdCluster;

/// After how many entries a member of 3.6 takes a snapshot, unless it is told otherwise. What follows from a volume is no more.
const DEFAULT: u64 = 10_000;
/// The largest snapshot count, in entries, up to which the log is filled: entries of the operator's take 100 bytes, and a
/// volume is not to be filled with them.
const MOST: u64 = 2_000_000;

/// Whether a member is to come from before that minor version to it or a later one.
pub(super) fn crosses(node: &Node<'_>, target: &Version, minor: u64) -> bool {
    node.version().is_some_and(|runs| target.at_least(3, minor, 0) && !runs.at_least(3, minor, 0))
}

/// How many entries have to come before a member may leave for 3.7, if it is the first. All members take a snapshot then. An
/// error is a sentence on why that cannot be done.
pub(super) fn entries_to_fill(
    observed: &Observed,
    roster: &Roster<'_>,
    node: &Node<'_>,
    target: &Version,
) -> Result<Option<u64>, String> {
    let first = !roster.voters().filter_map(Node::version).any(|version| version.at_least(3, 7, 0));
    if !first || !crosses(node, target, 7) {
        return Ok(None);
    }
    let Given { field, count } = snapshot_count(&observed.cluster);
    match count {
        Some(count) if count <= MOST => Ok(Some(count.saturating_add(1))),
        Some(count) => {
            Err(refusal(target, &format!("snapshot-count is {count} entries, and at most {MOST} are written")))
        }
        None => Err(refusal(target, &format!("{field} gives no number of entries for that"))),
    }
}

fn refusal(target: &Version, why: &str) -> String {
    format!(
        "etcd cannot go to {target} yet: its log is filled up to a snapshot before that, and {why}; set snapshot-count lower first, \
         in spec.options"
    )
}

/// What the spec says of the snapshot count.
struct Given {
    /// Where it says so.
    field: &'static str,
    /// After how many entries members take a snapshot; none where that is not to be seen there.
    count: Option<u64>,
}

fn snapshot_count(cluster: &EtcdCluster) -> Given {
    let spec = &cluster.spec;
    // etcd takes 0 for its default (`start` in `server/etcdserver/server.go`).
    let read = |text: &str| number(text).map(|count| if count == 0 { DEFAULT } else { count });
    if let Some(count) = spec.options.get("snapshot-count") {
        return Given { field: "snapshot-count", count: read(count) };
    }
    let mut variables = spec.pod.iter().flat_map(|pod| &pod.etcd_env);
    let count = match variables.find(|env| env.name == "ETCD_SNAPSHOT_COUNT") {
        Some(env) => env.value.as_deref().and_then(read),
        None => Some(DEFAULT),
    };
    Given { field: "ETCD_SNAPSHOT_COUNT in spec.pod.etcdEnv", count }
}

/// Whether members have to get the pods that the spec asks for before they leave 3.6: how much the log has to be filled follows
/// from the spec, and members that were given a larger count would not have taken a snapshot by then. Once one has left, all follow,
/// though just that one is without a pod.
pub(super) fn comes_after_other_pods(
    roster: &Roster<'_>,
    running: &[Version],
    target: &Version,
    template: &str,
) -> bool {
    let made_for = roster.voters().filter_map(|node| node.annotation(VERSION)).filter_map(Version::parse);
    let begun = running.iter().cloned().chain(made_for).any(|version| version.at_least(3, 7, 0));
    let leaves = !begun && roster.voters().any(|node| crosses(node, target, 7));
    leaves && roster.voters().any(|node| node.annotation(TEMPLATE) != Some(template))
}
