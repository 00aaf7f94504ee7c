//! Pure: the desired state of a cluster: its spec, or the nearest state that etcd allows from the present one.

use api::etcd_cluster::{DEFAULT_REPOSITORY, DEFAULT_VERSION, EtcdClusterReason};
use serde_json::{Value, json};

use super::known_good::fingerprint;
use super::member_set::{MemberSet, MemberView, only_voter};
use super::objects::{NEXT, OWNER_UID, TEMPLATE, VERSION};
use super::version::{Version, may_follow};
use super::{Explanation, Observed, adoption, authentication, effective_tls, leaving_3_6, names, takeover, tls};
use crate::EtcdCluster;

/// The desired state.
#[derive(Clone, Debug)]
pub struct Desired {
    /// The number of members.
    pub size: usize,
    /// The version of etcd.
    pub version: Version,
    /// The image of etcd, without its tag.
    pub repository: String,
    /// A fingerprint of the parts of the spec that determine pods, except the version. It does not depend on how the manager
    /// renders pods from them: an upgrade of the manager does not restart pods.
    pub template: String,
    /// Whether data outlives pods.
    pub durable: bool,
    /// The peer URLs of the members of a cluster that is taken over, where a joining member asks for the members.
    pub earlier_peers: Vec<String>,
    /// The part of the spec that is refused: the reason and message.
    pub refusal: Option<Explanation>,
}

impl Desired {
    /// Derives it from the spec.
    #[must_use]
    pub fn of(observed: &Observed, members: &MemberSet<'_>, durable: bool) -> Self {
        let cluster = &*observed.cluster;
        let running = running(cluster, members);
        let (version, refusal) = version(cluster, &running);
        let template = template_of(observed, members);
        let kept = version_to_keep(&running);
        let pods_come_first = || {
            comes_after_new_pod(cluster, members, &template, &kept) || has_not_answered_yet(members, &template, &kept)
        };
        let upgrades_later = leaving_3_6::comes_after_other_pods(members, &running, &version, &template)
            || !version.same_minor(&kept) && pods_come_first()
            || comes_after_first_answer(cluster, members, &version);
        Self {
            size: usize::try_from(cluster.spec.size).unwrap_or(1).max(1),
            version: if upgrades_later { kept } else { version },
            repository: Self::repository(cluster),
            template,
            durable,
            earlier_peers: members.earlier_peer_urls(),
            refusal: unsupported(observed)
                .or_else(|| options_refused(observed))
                .or(refusal)
                .or_else(|| authentication::refusal(observed))
                .or_else(|| cannot_hibernate(cluster, durable)),
        }
    }

    /// The desired state of a joining member: it has the version of the others as long as they have another minor version than
    /// desired. Its log comes from them, and it is upgraded with them.
    #[must_use]
    pub fn for_new_member(&self, members: &MemberSet<'_>) -> Self {
        let lowest = members.voters().filter_map(|member| member.version()).min_by_key(Version::numbers);
        let version = lowest.filter(|runs| (runs.major, runs.minor) != (self.version.major, self.version.minor));
        Self { version: version.unwrap_or_else(|| self.version.clone()), ..self.clone() }
    }

    /// The image in the spec, without its tag.
    pub(super) fn repository(cluster: &EtcdCluster) -> String {
        cluster.spec.repository.clone().unwrap_or_else(|| DEFAULT_REPOSITORY.to_owned())
    }

    /// The image of etcd.
    #[must_use]
    pub fn image(&self) -> String {
        format!("{}:v{}", self.repository, self.version)
    }
}

/// The part of the spec that the operator does not support, or cannot use.
pub(super) fn unsupported(observed: &Observed) -> Option<Explanation> {
    let tls = || observed.tls.refusal.clone().or_else(|| observed.tls.unusable.clone());
    too_old(&observed.cluster).or_else(tls)
}

/// The refusal of options of etcd in the spec: the reason and message.
pub(super) fn options_refused(observed: &Observed) -> Option<Explanation> {
    Some((EtcdClusterReason::OptionRefused, observed.options_refused.clone()?))
}

/// Why the operator does not follow `spec.hibernate`, if so.
fn cannot_hibernate(cluster: &EtcdCluster, durable: bool) -> Option<Explanation> {
    if cluster.spec.hibernate && takeover::is_under_way(cluster) {
        let why = "earlier members belong to the cluster, and need these for quorum: the cluster hibernates once they have left; \
                   set spec.takeover.earlierMembers to Remove";
        return Some((EtcdClusterReason::TakingOver, why.to_owned()));
    }
    (cluster.spec.hibernate && !durable).then(|| {
        let why = "members keep their data in their pods, and would lose it: the cluster does not hibernate; set spec.hibernate to false";
        (EtcdClusterReason::DataInPods, why.to_owned())
    })
}

/// For a cluster that exists, the rules for upgrades suffice.
fn too_old(cluster: &EtcdCluster) -> Option<Explanation> {
    let version = cluster.spec.version.as_deref().and_then(Version::parse)?;
    let refused = cluster.status.cluster_id.is_none() && !version.at_least(3, 2, 0);
    refused.then(|| {
        let message = format!(
            "nothing is created: spec.version is {version}, and the operator supports etcd 3.2 and later; set spec.version to \
             a later release, such as {DEFAULT_VERSION}"
        );
        (EtcdClusterReason::InvalidVersion, message)
    })
}

/// The version to run, and why it is not that of the spec.
fn version(cluster: &EtcdCluster, running: &[Version]) -> (Version, Option<Explanation>) {
    let latched = cluster.status.target_version.as_deref();
    let requested = cluster.spec.version.as_deref().or(latched).unwrap_or(DEFAULT_VERSION);
    let Some(target) = Version::parse(requested) else {
        let default = latched.and_then(Version::parse).unwrap_or_else(default_version);
        let message = format!("spec.version {requested:?} is not a version of etcd; set one such as 3.6.16");
        return (default, Some((EtcdClusterReason::InvalidVersion, message)));
    };
    match may_follow(running, &target) {
        Ok(()) => (target, None),
        Err(why) => {
            let kept = latched.and_then(Version::parse).filter(|latched| may_follow(running, latched).is_ok());
            let lowest = || running.iter().min_by_key(|version| version.numbers()).cloned();
            let kept = kept.or_else(lowest).unwrap_or_else(default_version);
            (kept, Some((EtcdClusterReason::UpgradeRefused, why)))
        }
    }
}

/// Whether the first member has to answer before it may be upgraded to another minor version: the status records that its etcd
/// has run, and it cannot be reached, so the preparations are not possible.
fn comes_after_first_answer(cluster: &EtcdCluster, members: &MemberSet<'_>, target: &Version) -> bool {
    let unanswered = |member: &&MemberView<'_>| cluster.status.cluster_id.is_none() && member.endpoint.is_none();
    let ran = members.all.iter().filter(unanswered).filter_map(|member| last_version(cluster, &member.name));
    ran.into_iter().any(|ran| !ran.same_minor(target))
}

/// Whether another minor version has to wait until the only member has a new pod, because the operator does not reach the present
/// one: the change of the spec may be what lets the operator reach it.
fn comes_after_new_pod(cluster: &EtcdCluster, members: &MemberSet<'_>, template: &str, kept: &Version) -> bool {
    let only = only_voter(cluster, members).filter(|_| !members.list_known);
    let member =
        only.and_then(|name| members.all.iter().find(|member| member.name == name && member.endpoint.is_none()));
    member.is_some_and(|member| {
        let outdated = member.annotation(TEMPLATE).is_some_and(|of| of != template);
        outdated && member.pod_version().is_some_and(|version| version.same_minor(kept))
    })
}

/// Whether a member's pod was deleted for one of this configuration, and the member has not answered since. Until it has, there
/// is no upgrade to another minor version, since its preparations need members that answer.
fn has_not_answered_yet(members: &MemberSet<'_>, template: &str, version: &Version) -> bool {
    let next = fingerprint(template, &version.to_string());
    let mut unanswered = members.all.iter().filter(|member| member.endpoint.is_none());
    unanswered.any(|member| member.claim.is_some_and(|claim| claim.labels.get(NEXT) == Some(&next)))
}

/// The version that a member last ran, as the status records it.
fn last_version(cluster: &EtcdCluster, name: &str) -> Option<Version> {
    cluster.status.member(name)?.version.as_deref().and_then(Version::parse)
}

/// The version that members keep for now: the highest of the lowest minor version that runs.
fn version_to_keep(running: &[Version]) -> Version {
    let minor = |version: &Version| (version.major, version.minor);
    let lowest = running.iter().map(minor).min();
    let of_it = running.iter().filter(|version| Some(minor(version)) == lowest);
    of_it.max_by_key(|version| version.numbers()).cloned().unwrap_or_else(default_version)
}

/// The versions of the members: as they report, or last reported it. Before the first has reported one, the version of its pod
/// counts. Without quorum, the report of a kubelet counts more than an earlier one of a member.
fn running(cluster: &EtcdCluster, members: &MemberSet<'_>) -> Vec<Version> {
    let started = |member: &MemberView<'_>| {
        let first = cluster.status.cluster_id.is_none() && !member.has_joining_pod() && member.has_run();
        member.annotation(VERSION).filter(|_| first).and_then(Version::parse)
    };
    let ready = |member: &MemberView<'_>| member.ready_version().filter(|_| !members.list_known);
    let of = |member: &MemberView<'_>| {
        let known = member.version().or_else(|| ready(member));
        known.or_else(|| last_version(cluster, &member.name)).or_else(|| started(member))
    };
    // A cluster that is not taken over yet is refused if its version does not fit.
    let counts = |member: &&MemberView<'_>| !member.earlier || cluster.status.cluster_id.is_some();
    members.all.iter().filter(counts).filter_map(of).collect()
}

/// The constant always parses, as a test shows.
fn default_version() -> Version {
    Version::parse(DEFAULT_VERSION).unwrap_or(Version { major: 3, minor: 6, patch: 0, pre: String::new() })
}

/// The fingerprint that pods have, if it is one of the current spec; else that of this manager.
fn template_of(observed: &Observed, members: &MemberSet<'_>) -> String {
    let is_present = |template: &String| members.all.iter().any(|member| member.annotation(TEMPLATE) == Some(template));
    let template = |numbers| with_authorities(observed, template(&observed.cluster, numbers));
    let (today, earlier) = (template(false), template(true));
    if !is_present(&today) && is_present(&earlier) { earlier } else { today }
}

/// The fingerprint of a pod with TLS, which etcd has to be restarted for if the authorities change.
fn with_authorities(observed: &Observed, template: String) -> String {
    match effective_tls::authorities(&observed.tls, &observed.pods).filter(|_| tls::policy(&observed.cluster).is_some())
    {
        Some(authorities) => format!("{:016x}", names::fingerprint(&format!("{template} {authorities}"))),
        None => template,
    }
}

/// A fingerprint of the parts of the spec that determine pods. Earlier managers serialized integer quantities as `numbers`.
pub(super) fn template(cluster: &EtcdCluster, numbers: bool) -> String {
    let spec = &cluster.spec;
    let mut parts = json!({
        "pod": pod_parts(cluster, numbers),
        "repository": spec.repository,
        "options": spec.options,
        "quota": spec.quota,
        "restartedAt": cluster.restarted_at,
    });
    if let Some(tls) = tls::policy(cluster) {
        parts["TLS"] = json!(tls);
    }
    // The pod that restores the snapshot holds on to the PVC with it: once the cluster exists, it is replaced as after an edit.
    if let Some(restore) = spec.restore.as_ref().filter(|_| cluster.status.cluster_id.is_none()) {
        parts["restore"] = json!(restore);
    }
    format!("{:016x}", names::fingerprint(&parts.to_string()))
}

/// The parts of `spec.pod` that determine pods.
pub(super) fn pod_parts(cluster: &EtcdCluster, numbers: bool) -> Value {
    let mut pod = cluster.spec.pod.clone().unwrap_or_default();
    // What does not change a running pod, or is handled elsewhere.
    pod.persistent_volume_claim_spec = None;
    pod.dns_timeout_in_second = 0;
    pod.busybox_image = None;
    let mut pod = json!(pod);
    for amounts in ["/resources/requests", "/resources/limits"].into_iter().filter(|_| numbers) {
        let amounts = pod.pointer_mut(amounts).and_then(Value::as_object_mut);
        for amount in amounts.into_iter().flat_map(serde_json::Map::values_mut) {
            if let Some(number) = amount.as_str().and_then(|amount| amount.parse::<i32>().ok()) {
                *amount = json!(number);
            }
        }
    }
    pod
}

/// Whether data outlives pods, if that is decided. It is latched in the status before the first member is created.
#[must_use]
pub fn durable(observed: &Observed) -> Option<bool> {
    let cluster = &*observed.cluster;
    // Volumes are authoritative. The status is a cache, and any part of it may be lost.
    let lost = cluster.status.cluster_id.is_none() || cluster.status.storage.is_none();
    if lost && has_own_claims(observed) {
        return Some(true);
    }
    if let Some(storage) = &cluster.status.storage {
        return Some(storage.durable);
    }
    if cluster.spec.storage.as_ref().is_some_and(|storage| storage.ephemeral) {
        return Some(false);
    }
    // A PVC is created before its pod, and exists as long as the pod does: so these pods hold their data themselves, and the
    // status was lost.
    if observed.pods.iter().any(|pod| pod.details.is_some()) {
        return Some(false);
    }
    let claims = cluster.spec.pod.as_ref().is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
    let specified =
        cluster.spec.storage.as_ref().is_some_and(|of| of.size.is_some() || of.storage_class_name.is_some());
    if claims || specified || adoption::is_requested(observed) {
        return Some(true);
    }
    observed.default_class.as_ref().and_then(|known| known.as_ref().ok().copied())
}

fn has_own_claims(observed: &Observed) -> bool {
    let uid = &*observed.cluster.meta.uid;
    observed.claims.iter().any(|claim| claim.labels.get(OWNER_UID).is_some_and(|of| of.as_str() == uid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_version_is_the_apis() {
        assert_eq!(default_version().to_string(), DEFAULT_VERSION);
    }
}
