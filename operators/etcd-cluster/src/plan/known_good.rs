//! Pure: the configurations with which members have been seen to run, as their PVCs record them.
//!
//! A spec can be bad: an option that etcd does not know, an image that does not exist. A rolling update fails on one member and
//! stops there. If another one loses its pod meanwhile, it restarts with its last known good configuration instead of the spec.
//! Otherwise two independent mistakes would cost quorum.

use std::sync::Arc;

use jiff::SignedDuration;
use runtime::projections::Pvc;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::objects::{self, KNOWN_GOOD, NEXT, RETIRED, VolumeFacts};
use super::version::Version;
use super::{Observed, claim_copies, tls};
use crate::EtcdCluster;

mod record;

pub use record::KnownGoodConfig;
pub(super) use record::fingerprint;

/// How long etcd takes at most to load a large database, during which it is not ready.
const LOAD_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

impl KnownGoodConfig {
    /// The desired configuration.
    fn of(cluster: &EtcdCluster, desired: &Desired) -> Self {
        let spec = &cluster.spec;
        Self {
            template: desired.template.clone(),
            version: desired.version.to_string(),
            repository: spec.repository.clone(),
            pod: spec.pod.clone(),
            options: spec.options.clone(),
            quota: spec.quota.clone(),
            tls: tls::policy(cluster).cloned(),
        }
    }

    /// The cluster and the desired state with this configuration.
    fn restore(&self, cluster: &EtcdCluster, desired: &Desired) -> Option<(EtcdCluster, Desired)> {
        let mut then = cluster.clone();
        then.spec.repository.clone_from(&self.repository);
        then.spec.pod.clone_from(&self.pod);
        then.spec.options.clone_from(&self.options);
        then.spec.quota.clone_from(&self.quota);
        then.spec.tls.clone_from(&self.tls);
        let desired = Desired {
            version: Version::parse(&self.version)?,
            repository: Desired::repository(&then),
            template: self.template.clone(),
            ..desired.clone()
        };
        Some((then, desired))
    }
}

/// The members whose PVCs have to be read for their known good configuration: those that restart and have no pod. No member
/// restarts on a retired PVC.
#[must_use]
pub fn claims_to_read(observed: &Observed) -> Vec<Arc<str>> {
    let has_no_pod = |claim: &Pvc| !observed.pods.iter().any(|pod| pod.meta.key.name == claim.meta.key.name);
    let has_record = |claim: &Pvc| claim.labels.contains_key(KNOWN_GOOD) && !claim.labels.contains_key(RETIRED);
    let claims = observed
        .claims
        .iter()
        .filter(|claim| has_record(claim) && has_no_pod(claim) && !claim_copies::is_unused_copy(observed, claim));
    claims.map(|claim| claim.meta.key.name.clone()).collect()
}

/// The fingerprint of the desired configuration.
pub(super) fn fingerprint_of(desired: &Desired) -> String {
    fingerprint(&desired.template, &desired.version.to_string())
}

/// The configuration with which a member restarts that lost its pod.
pub(super) enum RestartConfig {
    /// The desired one.
    Desired,
    /// The last known good one.
    LastKnownGood(Box<(EtcdCluster, Desired)>),
    /// The last known good one, which cannot be read now.
    Unknown,
}

/// The configuration with which a member restarts that lost its pod: the desired one, if that is known to be good or its pod was
/// deleted for it; otherwise its last known good one. If its PVC does not record one, it restarts with the desired one, but with
/// the minor version of its data.
pub(super) fn restart_config(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    name: &str,
) -> RestartConfig {
    let member = members.get(name);
    let label = |label: &str| member.and_then(|member| member.claim?.labels.get(label));
    let wanted = fingerprint_of(desired);
    match label(KNOWN_GOOD) {
        None if label(NEXT) == Some(&wanted) => RestartConfig::Desired,
        None => match member.and_then(version_of_data).filter(|ran| !ran.same_minor(&desired.version)) {
            Some(version) => RestartConfig::LastKnownGood(Box::new((
                (*observed.cluster).clone(),
                Desired { version, ..desired.clone() },
            ))),
            None => RestartConfig::Desired,
        },
        Some(_) if label(NEXT) == Some(&wanted) || is_known_good(members, desired) => RestartConfig::Desired,
        Some(last) => {
            let record = observed.known_good.get(name).filter(|known_good| known_good.fingerprint() == *last);
            let restored = record.and_then(|known_good| known_good.restore(&observed.cluster, desired));
            restored.map_or(RestartConfig::Unknown, |restored| RestartConfig::LastKnownGood(Box::new(restored)))
        }
    }
}

/// Whether any member has been seen to run with the desired configuration.
pub(super) fn is_known_good(members: &MemberSet<'_>, desired: &Desired) -> bool {
    let wanted = fingerprint_of(desired);
    members.all.iter().any(|member| runs_desired(member, desired) || recorded(member) == Some(&wanted))
}

/// Whether a member's pod has a configuration that has never been seen to run in it.
pub(super) fn is_untested(member: &MemberView<'_>) -> bool {
    pod_fingerprint(member).is_some_and(|of_pod| recorded(member) != Some(&of_pod))
}

/// Whether a member that does not run may try the desired configuration, though that of its pod is known to be good, and the
/// desired one is not: a good configuration may fail later, when its image is deleted or its database outgrows a limit.
///
/// Only one member at a time may: the next one waits until etcd answers in all pods with the desired configuration, so an even
/// worse spec costs only one member. None may change its minor version so, since that takes preparations by running members,
/// unless there is no other member.
pub(super) fn may_try(members: &MemberSet<'_>, desired: &Desired, member: &MemberView<'_>) -> bool {
    let exists = |other: &&MemberView<'_>| other.name != member.name && (other.pod.is_some() || other.claim.is_some());
    let mut others = members.all.iter().filter(exists).peekable();
    if others.peek().is_none() {
        return true;
    }
    keeps_minor(member, desired) && !others.any(|other| tries(other, desired))
}

/// Whether a member's pod has the desired minor version.
pub(super) fn keeps_minor(member: &MemberView<'_>, desired: &Desired) -> bool {
    member.pod_version().is_some_and(|version| version.same_minor(&desired.version))
}

/// Whether a member's PVC records a known good configuration.
pub(super) fn has_known_good(member: &MemberView<'_>) -> bool {
    recorded(member).is_some()
}

/// The version that a member last ran, as its PVC records it.
pub(super) fn version_of_data(member: &MemberView<'_>) -> Option<Version> {
    Version::parse(&VolumeFacts::of(member.claim?)?.version)
}

/// Whether a member is about to start with the desired configuration, or tries to.
fn tries(member: &MemberView<'_>, desired: &Desired) -> bool {
    let wanted = fingerprint_of(desired);
    member.endpoint.is_none() && (next(member) == Some(&wanted) || pod_fingerprint(member) == Some(wanted))
}

/// The fingerprint of the configuration of a member's pod.
fn pod_fingerprint(member: &MemberView<'_>) -> Option<String> {
    let of_pod = member.annotation(objects::TEMPLATE).zip(member.annotation(objects::VERSION));
    of_pod.map(|(template, version)| fingerprint(template, version))
}

/// The fingerprint of the configuration for which a member's pod was deleted.
fn next<'a>(member: &MemberView<'a>) -> Option<&'a String> {
    member.claim?.labels.get(NEXT)
}

/// The fingerprint of a member's last known good configuration.
fn recorded<'a>(member: &MemberView<'a>) -> Option<&'a String> {
    member.claim?.labels.get(KNOWN_GOOD)
}

/// Whether a member serves with the desired configuration.
fn runs_desired(member: &MemberView<'_>, desired: &Desired) -> bool {
    pod_fingerprint(member) == Some(fingerprint_of(desired)) && serves(member)
}

/// Whether a member serves with the configuration of its pod.
fn serves(member: &MemberView<'_>) -> bool {
    member.stays_healthy() && member.ready && member.runs_pod_version()
}

/// Whether a member does not answer because its pod is being recreated, or its image changed, for the desired configuration. For
/// a member without a volume, only the status has a record, of the version.
pub(super) fn is_being_updated(cluster: &EtcdCluster, member: &MemberView<'_>, desired: &Desired) -> bool {
    let wanted = fingerprint_of(desired);
    let as_desired = || pod_fingerprint(member).as_ref() == Some(&wanted);
    let planned = match (member.claim, recorded(member)) {
        _ if next(member) == Some(&wanted) => true,
        (None, _) => as_desired() && ran_another_version(cluster, member, desired),
        (Some(_), last) => last.is_some_and(|last| *last != wanted) && as_desired(),
    };
    planned && !has_had_time_to_start(member) && member.pod.is_none_or(|pod| pod.diagnosis.is_none())
}

/// Whether etcd has run in a member's new pod for so long that it should answer.
fn has_had_time_to_start(member: &MemberView<'_>) -> bool {
    if member.ready { member.runs_for_long() } else { member.runs_for >= LOAD_TIMEOUT }
}

/// Whether a member ran another version when it last answered.
fn ran_another_version(cluster: &EtcdCluster, member: &MemberView<'_>, desired: &Desired) -> bool {
    let last = cluster.status.member(&member.name).and_then(|status| Version::parse(status.version.as_deref()?));
    last.is_some_and(|last| last.numbers() != desired.version.numbers())
}

/// The configuration with which a member serves, if its pod has the current template. The version may differ: members join with
/// the version of the others, and keep it until a rolling update reaches them.
fn running_config(cluster: &EtcdCluster, member: &MemberView<'_>, desired: &Desired) -> Option<KnownGoodConfig> {
    let same = member.annotation(objects::TEMPLATE) == Some(desired.template.as_str());
    let version = member.annotation(objects::VERSION).filter(|_| same && serves(member))?;
    Some(KnownGoodConfig { version: version.to_owned(), ..KnownGoodConfig::of(cluster, desired) })
}

/// Updates the records on PVCs.
pub(super) fn update_records(
    cluster: &EtcdCluster,
    members: &MemberSet<'_>,
    desired: &Desired,
) -> Vec<runtime::plan::Apply> {
    let wanted = fingerprint_of(desired);
    let mut records = Vec::new();
    for member in &members.all {
        let Some(claim) = member.claim.filter(|claim| !claim.meta.deleting) else { continue };
        if let Some(config) =
            running_config(cluster, member, desired).filter(|config| recorded(member) != Some(&config.fingerprint()))
        {
            records.push(objects::known_good(claim, &config));
        }
        // The next configuration has been reached, or is not desired any more.
        let is_reached = recorded(member) == Some(&wanted) && runs_desired(member, desired);
        if claim.labels.get(NEXT).is_some_and(|next| is_reached || *next != wanted) {
            records.push(objects::next(claim, None));
        }
    }
    records
}
