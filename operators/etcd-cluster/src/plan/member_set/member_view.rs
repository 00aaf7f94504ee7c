//! Pure: one member: what etcd, its pod and its PVC say about it.

use jiff::{SignedDuration, Timestamp};
use runtime::projections::{ContainerStatus, Pod, PodDetails, Pvc};

use super::ids::hex;
use crate::plan::objects::{ETCD, InitialState, RESTARTS, START, VERSION, VolumeFacts};
use crate::plan::version::Version;
use crate::plan::{EndpointStatus, ListedMember, Observed};

/// For how long after a container restart a pod may become ready and then lose that again: until the kubelet starts the startup
/// probe again, it counts the previous one as passed (seen with 1.36).
const READINESS_STABILIZATION: SignedDuration = SignedDuration::from_secs(3);
/// After how long a kubelet does not take such readiness back any more. On a busy node it restarts the probe more than 4 s after
/// the container (seen with 1.36, with all processors in use).
const READINESS_CONFIRMATION: SignedDuration = SignedDuration::from_secs(8);
/// How far a kubelet's clock may be ahead for the operator to wait for stable readiness. With a larger difference a rollout would
/// wait until the clocks agree.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

/// How long etcd may run before it is healthy. Starts and elections take less.
const STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_mins(1);

/// A member.
#[derive(Debug, Default)]
pub struct MemberView<'a> {
    /// Its name, which its pod and its PVC share.
    pub name: String,
    /// Its pod, even if it is terminating.
    pub pod: Option<&'a Pod>,
    /// Its PVC; not that of a removed member.
    pub claim: Option<&'a Pvc>,
    /// Its entry in etcd's member list.
    pub listed: Option<&'a ListedMember>,
    /// What its etcd reports, if that is the listed member of this cluster.
    pub endpoint: Option<&'a EndpointStatus>,
    /// Why `endpoint` is not known, if etcd was queried.
    pub endpoint_error: Option<String>,
    /// Whether it is a member of a cluster that is taken over, which has no pod here.
    pub earlier: bool,
    /// Where clients reach it.
    pub address: Option<&'a str>,
    /// Whether the kubelet reports its pod as ready and will not take that back; of an earlier member, whether it is healthy.
    pub ready: bool,
    /// For how long its etcd has run without a restart; zero if it does not run.
    pub runs_for: SignedDuration,
}

impl<'a> MemberView<'a> {
    /// A member of which nothing but the name is known.
    pub(in crate::plan) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Sets what its etcd reports, or why that is not known.
    pub(super) fn attach_endpoint(&mut self, observed: &'a Observed) {
        let endpoint = match observed.etcd.endpoints.get(self.name.as_str()) {
            None => return,
            Some(Err(why)) => {
                self.endpoint_error = Some(why.clone());
                return;
            }
            Some(Ok(endpoint)) => endpoint,
        };
        let latched = observed.cluster.status.cluster_id.as_deref();
        if latched.is_some_and(|latched| latched != hex(endpoint.cluster_id)) {
            self.endpoint_error = Some(format!("belongs to another cluster, {}", hex(endpoint.cluster_id)));
        } else if self.listed.is_some_and(|listed| listed.id != endpoint.member_id) {
            self.endpoint_error = Some(format!("reports the id of another member, {}", hex(endpoint.member_id)));
        } else {
            self.endpoint = Some(endpoint);
        }
    }

    /// The state of its pod, unless that is terminating.
    #[must_use]
    pub fn pod_details(&self) -> Option<&'a PodDetails> {
        self.pod.filter(|pod| !pod.meta.deleting).and_then(|pod| pod.details.as_deref())
    }

    /// Whether its pod is terminating.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.pod.is_some_and(|pod| pod.meta.deleting)
    }

    /// What its volume holds: as etcd reports it, or else as the labels of the PVC record it.
    pub(in crate::plan) fn facts(&self) -> Option<VolumeFacts> {
        let reported = self.endpoint.filter(|_| self.has_started() && !self.is_learner()).map(|endpoint| VolumeFacts {
            cluster_id: hex(endpoint.cluster_id),
            member_id: hex(endpoint.member_id),
            version: endpoint.version.clone(),
        });
        reported.or_else(|| VolumeFacts::of(self.claim?))
    }

    /// Its PVC, if a new pod can use it: it is neither terminating nor lost.
    #[must_use]
    pub fn usable_claim(&self) -> Option<&'a Pvc> {
        self.claim.filter(|claim| !claim.lost && !claim.meta.deleting)
    }

    /// Whether it has a PVC that no new pod can use: it is terminating or lost.
    #[must_use]
    pub fn has_unusable_claim(&self) -> bool {
        self.claim.is_some() && self.usable_claim().is_none()
    }

    /// Whether its PVC has never had a volume, and so no data.
    #[must_use]
    pub fn has_unused_claim(&self) -> bool {
        self.usable_claim().is_some_and(|claim| !claim.bound)
    }

    /// Whether etcd lists it as a learner.
    #[must_use]
    pub fn is_learner(&self) -> bool {
        self.listed.is_some_and(|listed| listed.learner)
    }

    /// Whether it votes, answers, and knows a leader.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        let votes = self.listed.is_some() && !self.is_learner();
        let runs = self.earlier || self.pod_details().is_some();
        votes && runs && self.endpoint.is_some_and(|endpoint| endpoint.leader != 0)
    }

    /// Whether it is healthy, and not about to be restarted.
    #[must_use]
    pub fn stays_healthy(&self) -> bool {
        self.is_healthy() && !self.is_restarting()
    }

    /// Whether it can transfer leadership to another member: by its version, and by its answer to an earlier request.
    #[must_use]
    pub fn can_transfer_leadership(&self) -> bool {
        let refuses = self.endpoint.is_some_and(|endpoint| endpoint.refuses_transfer);
        !refuses && self.version().is_some_and(|version| version.can_transfer_leadership())
    }

    /// Whether it runs the version that its pod specifies.
    #[must_use]
    pub fn runs_pod_version(&self) -> bool {
        self.pod_version().zip(self.version()).is_some_and(|(wanted, runs)| wanted.numbers() == runs.numbers())
    }

    /// Whether the kubelet's report is about a container of the version that the pod specifies: for a moment after an image
    /// change it is still about the previous one. None if the report has no version, since a container runtime may name images by
    /// digest only.
    #[must_use]
    pub fn is_report_current(&self) -> Option<bool> {
        let (_, reported) = self.container(ETCD)?.image.rsplit_once(":v")?;
        Some(self.pod_version()? == Version::parse(reported)?)
    }

    /// Whether the kubelet's report is about the etcd that ran before the last image change: the next one may answer before the
    /// kubelet has reported its start. Without a version in the report, the count of restarts decides.
    pub(super) fn is_report_outdated(&self) -> bool {
        let earlier = || self.container(ETCD).is_some_and(|etcd| etcd.restarts < self.restarts_before());
        self.is_report_current().map_or_else(earlier, |current| !current)
    }

    /// Whether its etcd has run without a restart for so long that it should be healthy.
    #[must_use]
    pub fn runs_for_long(&self) -> bool {
        self.runs_for >= STARTUP_TIMEOUT
    }

    /// The version that the kubelet reports as ready, whether or not etcd answers the operator.
    #[must_use]
    pub fn ready_version(&self) -> Option<Version> {
        let reported = self.ready && self.runs_etcd() && self.is_report_current() == Some(true);
        self.pod_version().filter(|_| reported)
    }

    /// Whether its etcd is about to restart, or has not started since.
    #[must_use]
    pub fn is_restarting(&self) -> bool {
        !self.earlier && !self.is_report_current().unwrap_or_else(|| self.runs_pod_version())
    }

    /// Whether it has ever started, according to etcd.
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.listed.is_some_and(|listed| !listed.name.is_empty())
    }

    /// The number of restarts of its etcd up to and including the last image change.
    #[must_use]
    pub fn restarts_before(&self) -> i32 {
        self.annotation(RESTARTS).and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// An annotation of its pod.
    #[must_use]
    pub fn annotation(&self, name: &str) -> Option<&'a str> {
        self.pod?.details.as_deref()?.annotations.get(name).map(String::as_str)
    }

    /// The version that its pod specifies.
    pub(in crate::plan) fn pod_version(&self) -> Option<Version> {
        self.annotation(VERSION).and_then(Version::parse)
    }

    /// Whether etcd runs in its pod.
    #[must_use]
    pub fn runs_etcd(&self) -> bool {
        self.container(ETCD).is_some_and(|etcd| etcd.running)
    }

    /// Whether it has a pod that is not terminating, and etcd does not run in it.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.pod_details().is_some() && self.endpoint.is_none() && !self.runs_etcd()
    }

    /// Whether etcd has ever started in its pod. Before that, the pod waits for the member to be listed.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.runs_etcd() || self.container(ETCD).is_some_and(|etcd| etcd.terminated.is_some())
    }

    /// Whether its pod was created for a member that joins an existing cluster.
    #[must_use]
    pub fn has_joining_pod(&self) -> bool {
        self.annotation(START) == Some(InitialState::Existing.annotation_value())
    }

    /// Whether its pod would bootstrap a cluster if it had no data.
    pub(in crate::plan) fn has_bootstrap_pod(&self) -> bool {
        self.annotation(START) == Some(InitialState::New.annotation_value())
    }

    /// Whether its pod was created for the only member of a cluster that had lost quorum.
    pub(in crate::plan) fn has_recovering_pod(&self) -> bool {
        self.annotation(START) == Some(InitialState::Recover.annotation_value())
    }

    /// A container of its pod.
    #[must_use]
    pub fn container(&self, name: &str) -> Option<&'a ContainerStatus> {
        self.pod_details()?.container(name)
    }

    /// The version of etcd that it runs.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        Version::parse(&self.endpoint?.version)
    }
}

/// For how long etcd has run in a member's pod.
pub(super) fn runs_for(member: &MemberView<'_>, now: Timestamp) -> SignedDuration {
    let since = member.container(ETCD).filter(|etcd| etcd.running).and_then(|etcd| etcd.since);
    since.map_or(SignedDuration::ZERO, |since| now.duration_since(since))
}

/// Whether the kubelet's report of readiness is about the container that runs now. This compares times of the same kubelet, in
/// whole seconds; the manager's clock only ends the wait.
pub(super) fn is_readiness_stable(details: &PodDetails, now: Timestamp) -> bool {
    let etcd = details.container(ETCD);
    let Some((etcd, ready)) = etcd.filter(|etcd| etcd.restarts > 0).zip(details.ready_since) else { return true };
    let Some(since) = etcd.since else { return false };
    let lasted = now.duration_since(ready.max(since));
    ready.duration_since(since) >= READINESS_STABILIZATION
        || lasted >= READINESS_CONFIRMATION
        || lasted <= -MAX_CLOCK_SKEW
}
