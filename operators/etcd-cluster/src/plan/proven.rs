//! Pure: what members have been seen to run with, as their claims remember it.
//!
//! A spec can be bad: an option that etcd does not know, an image that is not there. A roll finds that out on one member and
//! stops there. If another one loses its pod meanwhile, it comes back as it ran last, and not as the spec asks: else two
//! mistakes of different people would cost the quorum.

use std::sync::Arc;

use jiff::SignedDuration;
use runtime::projections::Claim;

use super::objects::{self, Facts, NEXT, PROVEN, RETIRED};
use super::roster::{Node, Roster};
use super::version::Version;
use super::wish::Wish;
use super::{Observed, claim_copies};
use crate::EtcdCluster;

mod record;

pub use record::Proven;
pub(super) use record::mark;

/// How long etcd takes at most to load a large database, during which nobody finds it ready.
const LOADING: SignedDuration = SignedDuration::from_mins(10);

impl Proven {
    /// What pods are made of that are as wished.
    fn of(cluster: &EtcdCluster, wish: &Wish) -> Self {
        let spec = &cluster.spec;
        Self {
            template: wish.template.clone(),
            version: wish.version.to_string(),
            repository: spec.repository.clone(),
            pod: spec.pod.clone(),
            options: spec.options.clone(),
            quota: spec.quota.clone(),
        }
    }

    /// The cluster and the wish as they were then.
    fn restored(&self, cluster: &EtcdCluster, wish: &Wish) -> Option<(EtcdCluster, Wish)> {
        let mut then = cluster.clone();
        then.spec.repository.clone_from(&self.repository);
        then.spec.pod.clone_from(&self.pod);
        then.spec.options.clone_from(&self.options);
        then.spec.quota.clone_from(&self.quota);
        let wish = Wish {
            version: Version::parse(&self.version)?,
            repository: Wish::repository(&then),
            template: self.template.clone(),
            ..wish.clone()
        };
        Some((then, wish))
    }
}

/// The members whose claims have to be read for what they have been seen to run with: those that come back without a pod to go by.
/// The retired claims of removed members stay for good, and nobody comes back on them.
#[must_use]
pub fn to_read(observed: &Observed) -> Vec<Arc<str>> {
    let gone = |claim: &Claim| !observed.pods.iter().any(|pod| pod.meta.key.name == claim.meta.key.name);
    let tells = |claim: &Claim| claim.labels.contains_key(PROVEN) && !claim.labels.contains_key(RETIRED);
    let claims = observed
        .claims
        .iter()
        .filter(|claim| tells(claim) && gone(claim) && !claim_copies::is_unused_copy(observed, claim));
    claims.map(|claim| claim.meta.key.name.clone()).collect()
}

/// The fingerprint of what pods are made of that are as wished.
pub(super) fn mark_of(wish: &Wish) -> String {
    mark(&wish.template, &wish.version.to_string())
}

/// What a member that lost its pod is made of again.
pub(super) enum Made {
    /// As wished.
    AsWished,
    /// As it ran last.
    AsBefore(Box<(EtcdCluster, Wish)>),
    /// As it ran last; but how that was cannot be read now.
    Unknown,
}

/// How a member comes back that lost its pod: as wished, if that has been seen to run or its pod has been taken away for
/// it; as it ran last, otherwise. Where its claim does not tell how that was, it comes back as wished, but of the minor version
/// that its data is of.
pub(super) fn made(observed: &Observed, roster: &Roster<'_>, wish: &Wish, name: &str) -> Made {
    let node = roster.nodes.iter().find(|node| node.name == name);
    let label = |label: &str| node.and_then(|node| node.claim?.labels.get(label));
    let mark = mark_of(wish);
    match label(PROVEN) {
        None if label(NEXT) == Some(&mark) => Made::AsWished,
        None => match node.and_then(version_of_data).filter(|ran| !ran.same_minor(&wish.version)) {
            Some(version) => Made::AsBefore(Box::new(((*observed.cluster).clone(), Wish { version, ..wish.clone() }))),
            None => Made::AsWished,
        },
        Some(_) if label(NEXT) == Some(&mark) || is_proven(roster, wish) => Made::AsWished,
        Some(last) => {
            let told = observed.proven.get(name).filter(|proven| proven.mark() == *last);
            let restored = told.and_then(|proven| proven.restored(&observed.cluster, wish));
            restored.map_or(Made::Unknown, |restored| Made::AsBefore(Box::new(restored)))
        }
    }
}

/// Whether any member has been seen to run as wished.
pub(super) fn is_proven(roster: &Roster<'_>, wish: &Wish) -> bool {
    let mark = mark_of(wish);
    roster.nodes.iter().any(|node| runs_as(node, wish) || told(node).is_some_and(|told| *told == mark))
}

/// Whether a member's pod is made of something that has never been seen to run in it.
pub(super) fn is_unproven(node: &Node<'_>) -> bool {
    made_as(node).is_some_and(|made| told(node).is_none_or(|told| *told != made))
}

/// Whether a member that does not run may be brought to what is wished, though its pod is of something that has been seen to
/// run, and what is wished is not: what has run may stop to, when its image is gone or its database outgrows a limit.
///
/// One member at a time: the next one may as soon as etcd answers in all pods that are as wished, so a spec that is worse still
/// costs no more than one. None goes to another minor version so, since that takes preparations by members that run, unless
/// there is no other member.
pub(super) fn may_try(roster: &Roster<'_>, wish: &Wish, node: &Node<'_>) -> bool {
    let is_there = |other: &&Node<'_>| other.name != node.name && (other.pod.is_some() || other.claim.is_some());
    let mut others = roster.nodes.iter().filter(is_there).peekable();
    if others.peek().is_none() {
        return true;
    }
    keeps_minor(node, wish) && !others.any(|other| tries(other, wish))
}

/// Whether a member's pod is of the minor version that is wished.
pub(super) fn keeps_minor(node: &Node<'_>, wish: &Wish) -> bool {
    let made = node.annotation(objects::VERSION).and_then(Version::parse);
    made.is_some_and(|made| made.same_minor(&wish.version))
}

/// Whether a member's claim tells what it has been seen to run with.
pub(super) fn is_told(node: &Node<'_>) -> bool {
    told(node).is_some()
}

/// The version that a member ran last, by what its claim tells of its data.
pub(super) fn version_of_data(node: &Node<'_>) -> Option<Version> {
    Version::parse(&Facts::of(node.claim?)?.version)
}

/// Whether a member is about to start as wished, or tries to.
fn tries(node: &Node<'_>, wish: &Wish) -> bool {
    let mark = mark_of(wish);
    node.endpoint.is_none() && (next(node) == Some(&mark) || made_as(node) == Some(mark))
}

/// The fingerprint of what a member's pod is made of.
fn made_as(node: &Node<'_>) -> Option<String> {
    let made = node.annotation(objects::TEMPLATE).zip(node.annotation(objects::VERSION));
    made.map(|(template, version)| mark(template, version))
}

/// The fingerprint of what a member's pod has been taken away for.
fn next<'a>(node: &Node<'a>) -> Option<&'a String> {
    node.claim?.labels.get(NEXT)
}

fn told<'a>(node: &Node<'a>) -> Option<&'a String> {
    node.claim?.labels.get(PROVEN)
}

/// Whether a member serves, and its pod is as wished.
fn runs_as(node: &Node<'_>, wish: &Wish) -> bool {
    made_as(node) == Some(mark_of(wish)) && runs_well(node)
}

/// Whether a member serves with what its pod is made of.
fn runs_well(node: &Node<'_>) -> bool {
    node.serves_on() && node.ready && node.runs_its_version()
}

/// Whether a member is silent because its pod is just being replaced, or its image changed, for what is wished now. Of a member
/// without a volume only the version is remembered, by status.
pub(super) fn is_being_renewed(cluster: &EtcdCluster, node: &Node<'_>, wish: &Wish) -> bool {
    let mark = mark_of(wish);
    let as_wished = || made_as(node).as_ref() == Some(&mark);
    let planned = match (node.claim, told(node)) {
        _ if next(node) == Some(&mark) => true,
        (None, _) => as_wished() && ran_another_version(cluster, node, wish),
        (Some(_), last) => last.is_some_and(|last| *last != mark) && as_wished(),
    };
    planned && !is_back(node) && node.pod.is_none_or(|pod| pod.diagnosis.is_none())
}

/// Whether etcd has been running in a member's next pod for so long that it is silent for another reason than that it starts.
fn is_back(node: &Node<'_>) -> bool {
    if node.ready { node.runs_for_long() } else { node.runs_for >= LOADING }
}

/// Whether a member ran another version when it answered last.
fn ran_another_version(cluster: &EtcdCluster, node: &Node<'_>, wish: &Wish) -> bool {
    let last = cluster.status.member(&node.name).and_then(|status| Version::parse(status.version.as_deref()?));
    last.is_some_and(|last| last.numbers() != wish.version.numbers())
}

/// What a member runs with, if its pod is made of what the spec says now, be it with another version: members join with the
/// version of the others, and keep it until a roll reaches them.
fn ran(cluster: &EtcdCluster, node: &Node<'_>, wish: &Wish) -> Option<Proven> {
    let same = node.annotation(objects::TEMPLATE) == Some(wish.template.as_str());
    let version = node.annotation(objects::VERSION).filter(|_| same && runs_well(node))?;
    Some(Proven { version: version.to_owned(), ..Proven::of(cluster, wish) })
}

/// What claims are to remember from now on.
pub(super) fn notes(cluster: &EtcdCluster, roster: &Roster<'_>, wish: &Wish) -> Vec<runtime::plan::Apply> {
    let mark = mark_of(wish);
    let mut notes = Vec::new();
    for node in &roster.nodes {
        let Some(claim) = node.claim.filter(|claim| !claim.meta.deleting) else { continue };
        if let Some(ran) = ran(cluster, node, wish).filter(|ran| told(node) != Some(&ran.mark())) {
            notes.push(objects::proven(claim, &ran));
        }
        // What came next has come, or is not wished any more.
        let has_come = told(node) == Some(&mark) && runs_as(node, wish);
        if claim.labels.get(NEXT).is_some_and(|next| has_come || *next != mark) {
            notes.push(objects::next(claim, None));
        }
    }
    notes
}
