//! Pure: whether a cluster that has lost the volumes of all members begins again from its newest backup.
//!
//! The operator creates an EtcdRestore, or the condition has the command for it. What follows is as with any other one: the backup is
//! verified before anything is touched, and the volumes stay.

use api::condition_type::STALLED;
use api::etcd_cluster::RecoveryPolicy;
use jiff::Timestamp;

use super::survivor;
use crate::EtcdRestore;
use crate::plan::desired::Desired;
use crate::plan::member_set::MemberSet;
use crate::plan::{Observed, backups};

/// What is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FromBackup {
    /// The operator creates an EtcdRestore of that backup.
    Begin {
        /// The EtcdBackup.
        backup: String,
        /// The name of the backup.
        entry: String,
    },
    /// It does not: what the condition adds.
    Explain(String),
}

/// Decides it; nothing as long as any volume may be left.
pub(super) fn choose(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<FromBackup> {
    let cluster = &*observed.cluster;
    if !desired.durable || cluster.meta.deleting || !survivor::all_lost(observed, members, now) {
        return None;
    }
    if let Some(restore) = backups::open_restore(observed) {
        return Some(FromBackup::Explain(under_way(restore)));
    }
    let Some((backup, entry)) = backups::newest(observed) else {
        let id = cluster.status.cluster_id.as_deref().unwrap_or_default();
        return Some(FromBackup::Explain(format!(
            "the volumes of all members are lost, and no EtcdBackup has a backup of the cluster {id}"
        )));
    };
    let name = &*backup.meta.key.name;
    if survivor::may_decide(cluster, now) {
        return Some(FromBackup::Begin { backup: name.to_owned(), entry: entry.name.clone() });
    }
    let taken = entry.taken_at.map_or_else(String::new, |at| format!(", taken at {at:.0}"));
    let what = format!(
        "the volumes of all members are lost; the newest backup is {} of the EtcdBackup {name} (revision {}{taken})",
        entry.name, entry.revision
    );
    let automatic = cluster.spec.recovery.as_ref().filter(|of| of.policy == RecoveryPolicy::Automatic);
    Some(FromBackup::Explain(match automatic {
        Some(of) => {
            format!(
                "{what}: the operator begins the cluster again from it {} s after the loss of quorum",
                of.delay_seconds()
            )
        }
        None => format!(
            "{what}; to begin the cluster again from it, without what was written since: {}",
            backups::restore_command(cluster, name, &entry.name)
        ),
    }))
}

/// Whether an EtcdRestore of the operator's may begin or stay.
pub(super) fn is_wanted(observed: &Observed, members: &MemberSet<'_>, now: Timestamp) -> bool {
    let automatic = observed.cluster.spec.recovery.as_ref().is_some_and(|of| of.policy == RecoveryPolicy::Automatic);
    automatic && survivor::all_lost(observed, members, now)
}

/// Whether it is to be deleted: quorum has returned, or the policy has changed.
pub(in crate::plan) fn is_unwanted(observed: &Observed, members: &MemberSet<'_>) -> bool {
    let automatic = observed.cluster.spec.recovery.as_ref().is_some_and(|of| of.policy == RecoveryPolicy::Automatic);
    !automatic || members.list_known
}

fn under_way(restore: &EtcdRestore) -> String {
    let name = &restore.meta.key.name;
    let ready = restore.status.contract.condition(api::condition_type::READY);
    let trouble = ready.filter(|_| restore.status.contract.is_true(STALLED));
    match trouble {
        Some(ready) => {
            format!("the EtcdRestore {name} cannot begin the cluster again: {}: {}", ready.reason, ready.message)
        }
        None => format!("the EtcdRestore {name} begins the cluster again once its backup is verified"),
    }
}
