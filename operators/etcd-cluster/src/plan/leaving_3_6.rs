//! Pure: the preparation before members are upgraded from 3.6: 3.7 does not read log entries of 3.5, so the operator first
//! appends entries up to the next snapshot (docs/decisions/016).

use etcd_sizing::number;

use super::Observed;
use super::member_set::{MemberSet, MemberView};
use super::objects::TEMPLATE;
use super::version::Version;
use crate::EtcdCluster;

/// After how many entries a member of 3.6 takes a snapshot, unless an option says otherwise. A count that follows from a volume
/// is no larger.
const DEFAULT_SNAPSHOT_COUNT: u64 = 10_000;
/// The largest snapshot count, in entries, up to which the operator fills the log: its entries take 100 bytes, and must not fill
/// a volume.
const MAX_ENTRIES: u64 = 2_000_000;

/// Whether a member is to be upgraded from before that minor version to it or a later one.
pub(super) fn crosses(member: &MemberView<'_>, target: &Version, minor: u64) -> bool {
    member.version().is_some_and(|runs| target.at_least(3, minor, 0) && !runs.at_least(3, minor, 0))
}

/// How many entries have to be appended before a member may be upgraded to 3.7, if it is the first. After them, all members have
/// taken a snapshot. The error is the message why that is not possible.
pub(super) fn entries_to_fill(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    target: &Version,
) -> Result<Option<u64>, String> {
    let first = !members.voters().filter_map(MemberView::version).any(|version| version.at_least(3, 7, 0));
    if !first || !crosses(member, target, 7) {
        return Ok(None);
    }
    let SnapshotCount { field, count } = snapshot_count(&observed.cluster);
    match count {
        Some(count) if count <= MAX_ENTRIES => Ok(Some(count.saturating_add(1))),
        Some(count) => Err(refusal(
            target,
            &format!(
                "snapshot-count is {count} entries, of which the operator writes at most \
                {MAX_ENTRIES}"
            ),
        )),
        None => Err(refusal(target, &format!("{field} sets no number of entries"))),
    }
}

fn refusal(target: &Version, why: &str) -> String {
    format!(
        "etcd cannot be upgraded to {target} yet: all members must take a snapshot before that, and {why}; lower \
         snapshot-count in spec.options first"
    )
}

/// The snapshot count in the spec.
struct SnapshotCount {
    /// The field that sets it.
    field: &'static str,
    /// After how many entries members take a snapshot; none if the field has no number.
    count: Option<u64>,
}

fn snapshot_count(cluster: &EtcdCluster) -> SnapshotCount {
    let spec = &cluster.spec;
    // For etcd 0 is its default (`start` in `server/etcdserver/server.go`).
    let read = |text: &str| number(text).map(|count| if count == 0 { DEFAULT_SNAPSHOT_COUNT } else { count });
    if let Some(count) = spec.options.get("snapshot-count") {
        return SnapshotCount { field: "snapshot-count", count: read(count) };
    }
    let mut variables = spec.pod.iter().flat_map(|pod| &pod.etcd_env);
    let count = match variables.find(|env| env.name == "ETCD_SNAPSHOT_COUNT") {
        Some(env) => env.value.as_deref().and_then(read),
        None => Some(DEFAULT_SNAPSHOT_COUNT),
    };
    SnapshotCount { field: "ETCD_SNAPSHOT_COUNT in spec.pod.etcdEnv", count }
}

/// Whether members have to get the pods of the current spec before they are upgraded from 3.6: the number of entries follows from
/// the spec, and members with a larger snapshot count would not have taken a snapshot by then. Once one has been upgraded, all
/// follow, even if just that one has no pod.
pub(super) fn comes_after_other_pods(
    members: &MemberSet<'_>,
    running: &[Version],
    target: &Version,
    template: &str,
) -> bool {
    let pod_versions = members.voters().filter_map(MemberView::pod_version);
    let started = running.iter().cloned().chain(pod_versions).any(|version| version.at_least(3, 7, 0));
    let leaves = !started && members.voters().any(|member| crosses(member, target, 7));
    leaves && members.voters().any(|member| member.annotation(TEMPLATE) != Some(template))
}
