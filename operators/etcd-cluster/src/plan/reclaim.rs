//! Pure: makes room in databases that have reached their quota (alarm NOSPACE): the operator compacts the history of keys, and then
//! defragments one database after the other, so that their files shrink. Once all have room, it disarms the alarm (`space.rs`).
//!
//! What etcd reports to be in use is no guide: after a compaction it stays as it was until the next write, which etcd rejects.

use super::member_set::{MemberSet, MemberView};
use super::membership::EtcdStep;
use super::size::humanize_bytes;
use super::{Defragmentation, Observed, space};

/// The next step to make room, with quorum. None if there is no alarm, or keys need the space: then other steps continue, for example
/// with a larger quota.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    // Its clients may need the history until they have changed over.
    let raised = space::is_alarm_raised(observed) && members.earlier().next().is_none();
    let healthy = members.listed().all(|member| member.is_healthy() && member.ready);
    let quota = space::least_quota(observed, members).filter(|_| raised && healthy)?;
    let lacks_room = |member: &&MemberView<'_>| !space::has_room(size(member), quota);
    members.listed().find(lacks_room)?;
    let revision = members.leader().and_then(|leader| leader.endpoint).map(|endpoint| endpoint.revision)?;
    // The first revision has no earlier one.
    if !observed.etcd.is_compacted && revision > 1 {
        return Some(EtcdStep::Compact { revision });
    }
    let may_begin = |member: &&MemberView<'_>| match observed.etcd.defragmentations.get(member.name.as_str()) {
        None => true,
        Some(Defragmentation::Running) => false,
        Some(Defragmentation::Failed { recently, .. }) => !recently,
        // A client has deleted keys since.
        Some(Defragmentation::Done { revision: then, recently }) => !recently && *then != revision,
    };
    let member = members.leader_last(members.listed().filter(lacks_room).filter(may_begin))?;
    Some(EtcdStep::Defragment { name: member.name.clone(), revision })
}

/// How much of the databases is in use, and why one was not defragmented, for the message about the alarm.
pub(super) fn usage(observed: &Observed, members: &MemberSet<'_>) -> Option<String> {
    let (in_use, quota) = (in_use(members)?, space::least_quota(observed, members)?);
    let failed = observed.etcd.defragmentations.iter().find_map(|(name, state)| match state {
        Defragmentation::Failed { why, recently: true } => {
            Some(format!(" (member {name} was not defragmented, and is tried again: {why})"))
        }
        Defragmentation::Failed { .. } | Defragmentation::Running | Defragmentation::Done { .. } => None,
    });
    let failed = failed.unwrap_or_default();
    Some(format!("{} of {} are in use{failed}", humanize_bytes(in_use), humanize_bytes(quota)))
}

/// The most that is in use in one of the databases, if all members report it.
fn in_use(members: &MemberSet<'_>) -> Option<i64> {
    let of = |member: &MemberView<'_>| member.endpoint.map(|endpoint| endpoint.in_use).filter(|bytes| *bytes > 0);
    let all: Option<Vec<i64>> = members.listed().map(of).collect();
    all?.into_iter().max()
}

fn size(member: &MemberView<'_>) -> i64 {
    member.endpoint.map_or(0, |endpoint| endpoint.db_size)
}
