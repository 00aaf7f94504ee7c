//! Pure: one of those who are, were or shall be members.

use jiff::{SignedDuration, Timestamp};
use runtime::projections::{Claim, Container, Pod, Running};

use super::ids::hex;
use crate::plan::objects::{ETCD, Facts, RESTARTS, START, Start, VERSION};
use crate::plan::version::Version;
use crate::plan::{Endpoint, Member, Observed};

/// For how long after a container has been started again the kubelet may say that its pod is ready, and take that back:
/// until it begins with the start-up probe anew, the one before counts as passed (seen with 1.36).
const UNSETTLED: SignedDuration = SignedDuration::from_secs(3);
/// By how much a kubelet's clock may be ahead for that to be waited for; a roll is not to wait until clocks that differ by more agree.
const BEHIND: SignedDuration = SignedDuration::from_mins(1);

/// How long etcd may run before it is healthy: starts and elections take less.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// One of them.
#[derive(Debug, Default)]
pub struct Node<'a> {
    /// Its name, which is also its pod's and its claim's.
    pub name: String,
    /// Its pod, be it on its way out.
    pub pod: Option<&'a Pod>,
    /// Its claim; not that of a member which was removed.
    pub claim: Option<&'a Claim>,
    /// What etcd lists it as.
    pub member: Option<&'a Member>,
    /// What its etcd answers, if that is the member listed and of this cluster.
    pub endpoint: Option<&'a Endpoint>,
    /// Why its etcd does not answer so.
    pub silence: Option<String>,
    /// Whether the kubelet says that its pod is ready, and will not take that back.
    pub ready: bool,
    /// For how long its etcd has run without a restart; no time at all if it does not run.
    pub runs_for: SignedDuration,
}

impl<'a> Node<'a> {
    /// Takes in what its etcd answers.
    pub(super) fn listen(&mut self, observed: &'a Observed) {
        let endpoint = match observed.etcd.endpoints.get(self.name.as_str()) {
            None => return,
            Some(Err(why)) => {
                self.silence = Some(why.clone());
                return;
            }
            Some(Ok(endpoint)) => endpoint,
        };
        let latched = observed.cluster.status.cluster_id.as_deref();
        if latched.is_some_and(|latched| latched != hex(endpoint.cluster_id)) {
            self.silence = Some(format!("answers as of another cluster, {}", hex(endpoint.cluster_id)));
        } else if self.member.is_some_and(|member| member.id != endpoint.member_id) {
            self.silence = Some(format!("answers as another member, {}", hex(endpoint.member_id)));
        } else {
            self.endpoint = Some(endpoint);
        }
    }

    /// How its pod fares, if it is there to stay.
    #[must_use]
    pub fn running(&self) -> Option<&'a Running> {
        self.pod.filter(|pod| !pod.meta.deleting).and_then(|pod| pod.running.as_deref())
    }

    /// Whether its pod is on its way out.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.pod.is_some_and(|pod| pod.meta.deleting)
    }

    /// What its volume holds: by the word of its etcd, or else by what was noted of it before.
    pub(in crate::plan) fn facts(&self) -> Option<Facts> {
        let told = self.endpoint.filter(|_| self.has_started() && !self.is_learner()).map(|endpoint| Facts {
            cluster_id: hex(endpoint.cluster_id),
            member_id: hex(endpoint.member_id),
            version: endpoint.version.clone(),
        });
        told.or_else(|| Facts::of(self.claim?))
    }

    /// Whether its volume goes with its pod.
    #[must_use]
    pub fn is_doomed(&self) -> bool {
        self.claim.is_some_and(|claim| claim.meta.deleting || claim.lost)
    }

    /// Whether its claim has never had a volume, and so no data.
    #[must_use]
    pub fn has_unused_claim(&self) -> bool {
        self.claim.is_some_and(|claim| !claim.bound && !claim.lost && !claim.meta.deleting)
    }

    /// Whether it is listed and does not vote.
    #[must_use]
    pub fn is_learner(&self) -> bool {
        self.member.is_some_and(|member| member.learner)
    }

    /// Whether it votes, answers, and knows a leader.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        let votes = self.member.is_some_and(|member| !member.learner);
        votes && self.running().is_some() && self.endpoint.is_some_and(|endpoint| endpoint.leader != 0)
    }

    /// Whether it is healthy, and not about to be restarted.
    #[must_use]
    pub fn serves_on(&self) -> bool {
        self.is_healthy() && !self.is_restarting()
    }

    /// Whether it can have another member lead, should it lead: by its version, and by what it answered when it was asked to.
    #[must_use]
    pub fn hands_over(&self) -> bool {
        let refuses = self.endpoint.is_some_and(|endpoint| endpoint.keeps_leading);
        !refuses && self.version().is_some_and(|version| version.moves_leaders())
    }

    /// Whether it runs the version that its pod calls for.
    #[must_use]
    pub fn runs_its_version(&self) -> bool {
        let wanted = self.annotation(VERSION).and_then(Version::parse);
        wanted.zip(self.version()).is_some_and(|(wanted, runs)| wanted.numbers() == runs.numbers())
    }

    /// Whether what the kubelet tells of its pod is of the container that its version calls for: for a moment after a
    /// change of image it is still of the one before. A runtime may name images by their digests only.
    #[must_use]
    pub fn is_reported(&self) -> Option<bool> {
        let (_, told) = self.container(ETCD)?.image.rsplit_once(":v")?;
        Some(Version::parse(self.annotation(VERSION)?)? == Version::parse(told)?)
    }

    /// Whether what the kubelet tells of its pod is of the etcd before its image was changed last: the next one may answer before
    /// the kubelet has reported that it started it. Where it tells no version, it tells of another start.
    pub(super) fn is_outdated(&self) -> bool {
        let earlier = || self.container(ETCD).is_some_and(|etcd| etcd.restarts < self.restarts_before());
        self.is_reported().map_or_else(earlier, |reported| !reported)
    }

    /// Whether its etcd has run for so long without a restart that it should be healthy.
    #[must_use]
    pub fn runs_for_long(&self) -> bool {
        self.runs_for >= PATIENCE
    }

    /// The version that its kubelet has found ready, whether or not its etcd answers the operator.
    #[must_use]
    pub fn version_found_ready(&self) -> Option<Version> {
        let reported = self.ready && self.runs_etcd() && self.is_reported() == Some(true);
        self.annotation(VERSION).filter(|_| reported).and_then(Version::parse)
    }

    /// Whether its etcd is about to be restarted, or has not come up since.
    #[must_use]
    pub fn is_restarting(&self) -> bool {
        !self.is_reported().unwrap_or_else(|| self.runs_its_version())
    }

    /// Whether it has ever started, as far as etcd knows.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.member.is_some_and(|member| !member.name.is_empty())
    }

    /// How often its etcd had been started again when its image was changed last, that change included.
    #[must_use]
    pub fn restarts_before(&self) -> i32 {
        self.annotation(RESTARTS).and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// One of its pod's annotations.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&'a str> {
        self.pod?.running.as_deref()?.annotations.get(name).map(String::as_str)
    }

    /// Whether etcd runs in its pod.
    #[must_use]
    pub fn runs_etcd(&self) -> bool {
        self.container(ETCD).is_some_and(|etcd| etcd.running)
    }

    /// Whether it has a pod that is to stay, and etcd does not run in it.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.running().is_some() && self.endpoint.is_none() && !self.runs_etcd()
    }

    /// Whether etcd has ever been started in its pod, before which it waits to be listed.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.runs_etcd() || self.container(ETCD).is_some_and(|etcd| etcd.ended.is_some())
    }

    /// Whether its pod is that of a member which joins, or joined.
    #[must_use]
    pub fn joins(&self) -> bool {
        self.annotation(START) == Some(Start::Join.word())
    }

    /// Whether its pod would begin a cluster, were there no data.
    pub(in crate::plan) fn begins(&self) -> bool {
        self.annotation(START) == Some(Start::New.word())
    }

    /// One of its pod's containers.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<&'a Container> {
        self.running()?.container(name)
    }

    /// The version of etcd that it runs, or ran last.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        Version::parse(&self.endpoint?.version)
    }
}

/// For how long etcd has run in a member's pod.
pub(super) fn runs_for(node: &Node<'_>, now: Timestamp) -> SignedDuration {
    let since = node.container(ETCD).filter(|etcd| etcd.running).and_then(|etcd| etcd.since);
    since.map_or(SignedDuration::ZERO, |since| now.duration_since(since))
}

/// Whether what the kubelet says of a pod's readiness is of the container that runs now. Times are compared that the same
/// kubelet has told, in whole seconds; the manager's own clock only ends the wait.
pub(super) fn is_settled(running: &Running, now: Timestamp) -> bool {
    let etcd = running.container(ETCD);
    let Some((etcd, ready)) = etcd.filter(|etcd| etcd.restarts > 0).zip(running.ready_since) else { return true };
    let Some(since) = etcd.since else { return false };
    let lasted = now.duration_since(ready.max(since));
    ready.duration_since(since) >= UNSETTLED || lasted >= UNSETTLED || lasted <= -BEHIND
}
