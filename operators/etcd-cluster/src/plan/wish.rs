//! Pure: what a cluster should be now: its spec, and of what cannot be had from where it stands, the nearest that can.

use api::etcd_cluster::{DEFAULT_REPOSITORY, DEFAULT_VERSION, EtcdClusterReason};
use serde_json::{Value, json};

use super::objects::{NEXT, OWNER_UID, TEMPLATE, VERSION};
use super::proven::mark;
use super::roster::{Node, Roster, only_voter};
use super::version::{Version, may_follow};
use super::{Explanation, Observed, adoption, leaving_3_6, names};
use crate::EtcdCluster;

/// What a cluster should be now.
#[derive(Clone, Debug)]
pub struct Wish {
    /// How many members.
    pub size: usize,
    /// Which version they run.
    pub version: Version,
    /// Which image they run, without its tag.
    pub repository: String,
    /// A fingerprint of what the spec says of pods, the version apart. What a later manager renders otherwise from the
    /// same spec is none of it: pods do not restart because the manager's version changed.
    pub template: String,
    /// Whether data outlives pods.
    pub durable: bool,
    /// What of the spec cannot be had: the condition's reason and message.
    pub refusal: Option<Explanation>,
}

impl Wish {
    /// Judges the spec.
    #[must_use]
    pub fn of(observed: &Observed, roster: &Roster<'_>, durable: bool) -> Self {
        let cluster = &*observed.cluster;
        let running = running(cluster, roster);
        let (version, refusal) = version(cluster, &running);
        let template = template_of(cluster, roster);
        let kept = kept(&running);
        let pods_come_first =
            || comes_after_the_pod(cluster, roster, &template, &kept) || is_due(roster, &template, &kept);
        let comes_later = leaving_3_6::comes_after_other_pods(roster, &running, &version, &template)
            || !version.same_minor(&kept) && pods_come_first()
            || comes_after_the_first_answer(cluster, roster, &version);
        Self {
            size: usize::try_from(cluster.spec.size).unwrap_or(1).max(1),
            version: if comes_later { kept } else { version },
            repository: Self::repository(cluster),
            template,
            durable,
            refusal: unsupported(cluster).or_else(|| options_refused(observed)).or(refusal),
        }
    }

    /// What a member should be that joins: of the version that members have, as long as they are to go to another minor
    /// version. Its log comes from them, and it goes there with them.
    #[must_use]
    pub fn joining(&self, roster: &Roster<'_>) -> Self {
        let lowest = roster.voters().filter_map(|node| node.version()).min_by_key(Version::numbers);
        let version = lowest.filter(|runs| (runs.major, runs.minor) != (self.version.major, self.version.minor));
        Self { version: version.unwrap_or_else(|| self.version.clone()), ..self.clone() }
    }

    /// The image that a spec asks for, without its tag.
    pub(super) fn repository(cluster: &EtcdCluster) -> String {
        cluster.spec.repository.clone().unwrap_or_else(|| DEFAULT_REPOSITORY.to_owned())
    }

    /// The image of etcd.
    #[must_use]
    pub fn image(&self) -> String {
        format!("{}:v{}", self.repository, self.version)
    }
}

/// What there is no behaviour for.
pub(super) fn unsupported(cluster: &EtcdCluster) -> Option<Explanation> {
    too_old(cluster).or_else(|| without_tls(cluster))
}

/// Options of etcd that the spec gives and that are refused: the condition's reason and message.
pub(super) fn options_refused(observed: &Observed) -> Option<Explanation> {
    Some((EtcdClusterReason::OptionRefused, observed.options_refused.clone()?))
}

/// Of a cluster that has been made, the rules for versions say enough.
fn too_old(cluster: &EtcdCluster) -> Option<Explanation> {
    let version = cluster.spec.version.as_deref().and_then(Version::parse)?;
    let refused = cluster.status.cluster_id.is_none() && !version.at_least(3, 2, 0);
    refused.then(|| {
        let message = format!(
            "nothing is created: spec.version is {version}, and etcd is run from 3.2 on; set spec.version to a later release, \
             such as {DEFAULT_VERSION}"
        );
        (EtcdClusterReason::InvalidVersion, message)
    })
}

fn without_tls(cluster: &EtcdCluster) -> Option<Explanation> {
    cluster.spec.tls.as_ref()?;
    let made = cluster.status.cluster_id.is_some();
    let then = if made { "the cluster runs without TLS" } else { "nothing is created" };
    Some((EtcdClusterReason::TLSNotSupported, format!("spec.TLS is not supported yet, so {then}: remove the field")))
}

/// The version to run, and why it is not the one asked for.
fn version(cluster: &EtcdCluster, running: &[Version]) -> (Version, Option<Explanation>) {
    let latched = cluster.status.target_version.as_deref();
    let asked = cluster.spec.version.as_deref().or(latched).unwrap_or(DEFAULT_VERSION);
    let Some(target) = Version::parse(asked) else {
        let default = latched.and_then(Version::parse).unwrap_or_else(default_version);
        let message = format!("spec.version {asked:?} is not a version of etcd: set one such as 3.6.16");
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

/// Whether the first member has to answer before it may go to another minor version: its etcd has run and cannot be reached, as
/// status remembers, so nothing can be done of what has to come before that.
fn comes_after_the_first_answer(cluster: &EtcdCluster, roster: &Roster<'_>, target: &Version) -> bool {
    let silent = |node: &&Node<'_>| cluster.status.cluster_id.is_none() && node.endpoint.is_none();
    let ran = roster.nodes.iter().filter(silent).filter_map(|node| told(cluster, &node.name));
    ran.into_iter().any(|ran| !ran.same_minor(target))
}

/// Whether another minor version has to wait until the only member has another pod, because the operator does not reach the one it
/// has: what lets it through may be just what the spec says of pods by now.
fn comes_after_the_pod(cluster: &EtcdCluster, roster: &Roster<'_>, template: &str, kept: &Version) -> bool {
    let only = only_voter(cluster, roster).filter(|_| !roster.listed);
    let node = only.and_then(|name| roster.nodes.iter().find(|node| node.name == name && node.endpoint.is_none()));
    node.is_some_and(|node| {
        let made = node.annotation(VERSION).and_then(Version::parse);
        let outdated = node.annotation(TEMPLATE).is_some_and(|of| of != template);
        outdated && made.is_some_and(|made| made.same_minor(kept))
    })
}

/// Whether a member has lost its pod for one that is made of this, and has not answered since. Until it has, no other minor version
/// comes: of what has to precede that, a member that does not answer tells nothing.
fn is_due(roster: &Roster<'_>, template: &str, version: &Version) -> bool {
    let due = mark(template, &version.to_string());
    let mut silent = roster.nodes.iter().filter(|node| node.endpoint.is_none());
    silent.any(|node| node.claim.is_some_and(|claim| claim.labels.get(NEXT) == Some(&due)))
}

/// What a member ran last, as status remembers.
fn told(cluster: &EtcdCluster, name: &str) -> Option<Version> {
    cluster.status.member(name)?.version.as_deref().and_then(Version::parse)
}

/// The version that members stay at for now: the highest of the minor version that the slowest runs.
fn kept(running: &[Version]) -> Version {
    let minor = |version: &Version| (version.major, version.minor);
    let lowest = running.iter().map(minor).min();
    let of_it = running.iter().filter(|version| Some(minor(version)) == lowest);
    of_it.max_by_key(|version| version.numbers()).cloned().unwrap_or_else(default_version)
}

/// What members run: by their own word, or what they ran when they last gave it; before the first has given it, what it
/// has been started with. Without quorum the kubelets' word counts for more than an old one.
fn running(cluster: &EtcdCluster, roster: &Roster<'_>) -> Vec<Version> {
    let started = |node: &Node<'_>| {
        let first = cluster.status.cluster_id.is_none() && !node.joins() && node.has_run();
        node.annotation(VERSION).filter(|_| first).and_then(Version::parse)
    };
    let found = |node: &Node<'_>| node.version_found_ready().filter(|_| !roster.listed);
    let of = |node: &Node<'_>| {
        let known = node.version().or_else(|| found(node));
        known.or_else(|| told(cluster, &node.name)).or_else(|| started(node))
    };
    roster.nodes.iter().filter_map(of).collect()
}

/// Never without the numbers: a test reads the constant.
fn default_version() -> Version {
    Version::parse(DEFAULT_VERSION).unwrap_or(Version { major: 3, minor: 6, patch: 0, pre: String::new() })
}

/// The fingerprint that pods have of what the spec says of them, if that is what it says; else the one of today.
fn template_of(cluster: &EtcdCluster, roster: &Roster<'_>) -> String {
    let is_there = |template: &String| roster.nodes.iter().any(|node| node.annotation(TEMPLATE) == Some(template));
    let (today, earlier) = (template(cluster, false), template(cluster, true));
    if !is_there(&today) && is_there(&earlier) { earlier } else { today }
}

/// A fingerprint of what the spec says of pods. Earlier managers kept quantities that are whole numbers as numbers.
pub(super) fn template(cluster: &EtcdCluster, numbers: bool) -> String {
    let spec = &cluster.spec;
    let said = json!({
        "pod": of_pods(cluster, numbers),
        "repository": spec.repository,
        "options": spec.options,
        "quota": spec.quota,
        "restartedAt": cluster.restarted_at,
    });
    format!("{:016x}", names::fingerprint(&said.to_string()))
}

/// What the spec says of pods alone.
pub(super) fn of_pods(cluster: &EtcdCluster, numbers: bool) -> Value {
    let mut pod = cluster.spec.pod.clone().unwrap_or_default();
    // What does not reach a pod that already runs, or is judged elsewhere.
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

/// Whether data outlives pods, as far as that is decided; latched in status before the first member is made.
#[must_use]
pub fn durable(observed: &Observed) -> Option<bool> {
    let cluster = &*observed.cluster;
    // Volumes are the truth, and status is a cache, of which any part may be lost.
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
    // A claim is made before its pod, and stays as long as the pod does: so these pods hold their data themselves, and the
    // status that told of it is gone.
    if observed.pods.iter().any(|pod| pod.running.is_some()) {
        return Some(false);
    }
    let claims = cluster.spec.pod.as_ref().is_some_and(|pod| pod.persistent_volume_claim_spec.is_some());
    let asked = cluster.spec.storage.as_ref().is_some_and(|of| of.size.is_some() || of.storage_class_name.is_some());
    if claims || asked || adoption::is_asked(observed) {
        return Some(true);
    }
    observed.default_class.as_ref().and_then(|told| told.as_ref().ok().copied())
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
