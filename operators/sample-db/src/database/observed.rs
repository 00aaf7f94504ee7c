//! Pure: what was observed, unknowns included.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use api::sample_db::{ADOPT, Scheduling};
use jiff::Timestamp;
use runtime::job::{self, JobProgress};
use runtime::plan::{ChildState, DryRun};
use runtime::pod::trial_pod;
use runtime::projections::{ConfigMap, Job, Pod, Pvc, Service, StatefulSet};

use super::catalog::Catalog;
use super::ownership;
use super::server_info::ServerProbe;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::labels::OWNER_UID;
use crate::operand::pod::PodContext;
use crate::operand::{database_state, names, scheduling};

/// A database and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub db: Arc<SampleDB>,
    /// The releases that are available, or why the catalog cannot be read.
    pub catalog: Result<Arc<Catalog>, String>,
    /// The serving server.
    pub server: ChildState<StatefulSet>,
    /// The server that an upgrade leads to.
    pub target_server: ChildState<StatefulSet>,
    /// All servers of the database's name, by name: during a major upgrade there are two.
    pub servers: Vec<Arc<StatefulSet>>,
    /// The headless Service.
    pub peers: ChildState<Service>,
    /// The Service that applications use.
    pub read_write: ChildState<Service>,
    /// The connection details.
    pub connection: ChildState<ConfigMap>,
    /// The server's parameters.
    pub configuration: ChildState<ConfigMap>,
    /// Its PVCs, by name, including those that an earlier database of the name left.
    pub claims: Vec<Arc<Pvc>>,
    /// Its pods: the server's and those of Jobs, by name.
    pub pods: Vec<Arc<Pod>>,
    /// The names of servers' pods that foreign pods have.
    pub taken_names: BTreeSet<String>,
    /// The pods that take or verify the final snapshot; only observed while the database is being deleted.
    pub final_snapshot_pods: Vec<Arc<Pod>>,
    /// Its Jobs, by name.
    pub jobs: Vec<Arc<Job>>,
    /// Its snapshots, by name.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Snapshots that it may be restored from; only observed until then.
    pub restore_candidates: Vec<Arc<Snapshot>>,
    /// The superuser's Secret.
    pub superuser_secret: SecretState,
    /// The applications' Secret.
    pub app_secret: SecretState,
    /// When the superuser's Secret was recreated for existing data, if it was.
    pub password_regenerated_at: Option<String>,
    /// The SQL of the initial configuration; only observed while it is needed.
    pub init_sources: InitSources,
    /// What the server reported.
    pub probe: ServerProbe,
    /// Why the server's pod failed for good, if it did: the kubelet restarts nothing of it. Only observed while nothing of it
    /// runs.
    pub pod_failure: Option<String>,
    /// Whether the API server accepts the pod that is to replace the server's; `Accepted` until that was queried. It is queried
    /// only before a StatefulSet gets its template, and before a ready pod is deleted for it.
    pub replacement: DryRun,
    /// Whether the pod that is to replace the server's would start; `Verified` until that was checked.
    pub placement: PlacementCheck,
    /// For how long the server has not answered, whether ready or not; `None` while it answers or does not run.
    pub silent_for: Option<Duration>,
    /// When this manager first observed databases; `None` counts as always.
    pub observing_since: Option<Timestamp>,
    /// The result of a finished copy, read from the target server: it is there before the watch reports the end of the Job.
    pub copy_result: Option<PgUpgradeResult>,
    /// Hosts and ports outside the cluster at which the Service is reachable; only observed if it is published.
    pub external: Vec<String>,
    /// The user's PVC that the final snapshot is on, or goes to; only read while the object is being deleted.
    pub existing_claim: Option<Arc<Pvc>>,
    /// Whether the PVC that the spec names for snapshots holds the data of a database.
    pub snapshots_on_data: bool,
    /// Whether the namespace is terminating; only observed while the object is being deleted.
    pub namespace_terminating: bool,
    /// Whether the namespace assigns the UIDs of pods.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's.
    pub agent_image: Arc<str>,
}

/// How a reconcile contacts the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// Not at all.
    None,
    /// Only to see whether it answers: it runs, and is not ready.
    Ping,
    /// To query its state: it is ready and configured.
    Query,
}

/// The state of a Secret, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretState {
    /// It could not be read.
    Unknown(String),
    /// It does not exist.
    Absent,
    /// It has what it needs.
    Usable,
    /// It is usable, but entries derived from its password, such as the URI, are those of another password.
    Outdated,
    /// Something is missing, or cannot be used: why.
    Malformed(String),
    /// It has the name of the database's Secret, and belongs to another owner.
    Foreign,
}

/// The SQL of the initial configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitSources {
    /// It could not be read: why.
    Unknown(String),
    /// Some of it is missing: what.
    Missing(String),
    /// All of it exists: its SHA-256.
    Digest(String),
}

impl Observed {
    /// The pod of the serving server, if it exists.
    #[must_use]
    pub fn pod(&self) -> Option<&Pod> {
        self.pod_named(&crate::operand::names::pod(&self.db))
    }

    /// Whether the pod of the serving server is ready. A terminating one is not: it accepts no new connections.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let stays = self.pod().filter(|pod| !pod.meta.deleting);
        stays.and_then(|pod| pod.details.as_deref()).is_some_and(|running| running.ready)
    }

    /// Whether there is a server that could answer. While the pod's init container creates or restores data, there is none.
    #[must_use]
    pub fn is_running(&self) -> bool {
        let running = self.pod().filter(|pod| !pod.meta.deleting).and_then(|pod| pod.details.as_deref());
        running.and_then(|running| running.container(names::SERVER)).is_some_and(|server| server.running)
    }

    /// How to contact the serving server. One that recovers from a crash answers that it does.
    #[must_use]
    pub fn contact(&self) -> Contact {
        match (self.is_running(), self.is_ready(), self.db.status.initialization.completed_at) {
            (true, false, _) => Contact::Ping,
            (true, true, Some(_)) => Contact::Query,
            (true, true, None) | (false, ..) => Contact::None,
        }
    }

    /// A pod by its name.
    #[must_use]
    pub fn pod_named(&self, name: &str) -> Option<&Pod> {
        self.pods.iter().map(|pod| &**pod).find(|pod| *pod.meta.key.name == *name)
    }

    /// Its servers that are not terminating.
    pub(crate) fn own_servers(&self) -> impl Iterator<Item = &StatefulSet> {
        let own = |set: &&StatefulSet| set.meta.controlled_by(&self.db.meta.uid) && !set.meta.deleting;
        self.servers.iter().map(|set| &**set).filter(own)
    }

    /// A PVC by its name.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<&Pvc> {
        self.claims.iter().map(|claim| &**claim).find(|claim| *claim.meta.key.name == *name)
    }

    /// Whether a PVC was created for the database, or is adopted by its annotation. This includes the PVC of its own data if a
    /// restore of a backup gave both new UIDs.
    #[must_use]
    pub fn is_own(&self, claim: &Pvc) -> bool {
        let current = self.db.status.storage.claim.as_deref() == Some(&*claim.meta.key.name);
        let named = self.db.annotations.get(ADOPT).filter(|_| current);
        let returned = named.is_some_and(|uid| claim.labels.get(OWNER_UID).is_some_and(|owner| **owner == **uid));
        returned || ownership::is_own(&self.db, &claim.labels)
    }

    /// The snapshots of this database, under all of its UIDs: another one of the same name may have left others.
    pub(crate) fn own_snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        let (uid, earlier) = (&self.db.meta.uid, &self.db.status.storage.adopted_from);
        let all = self.snapshots.iter().map(|snapshot| &**snapshot);
        let own = move |of: &str| *of == **uid || earlier.iter().any(|uid| uid == of);
        all.filter(move |snapshot| snapshot.status.sample_db_uid.as_deref().is_some_and(own))
    }

    /// The scheduling and identity of the server's pods, with that image of the engine.
    pub(crate) fn pod_context<'a>(&'a self, engine: &'a str) -> PodContext<'a> {
        PodContext {
            scheduling: self.scheduling(),
            engine,
            agent: &self.agent_image,
            namespace_assigns_uids: self.namespace_assigns_uids,
        }
    }

    /// The scheduling of the server's pods. While clients are blocked for an upgrade, it is that of the present pod, because
    /// nothing else was tested.
    pub(crate) fn scheduling(&self) -> Cow<'_, Scheduling> {
        let present =
            self.pod().filter(|_| database_state::blocks_clients(&self.db)).and_then(scheduling::recorded_placement);
        present.map_or(Cow::Borrowed(&self.db.spec.scheduling), Cow::Owned)
    }

    /// The scheduling of Jobs' pods: that of the server's present pod, because the spec's may not work.
    pub(crate) fn job_context<'a>(&'a self, engine: &'a str) -> PodContext<'a> {
        let context = self.pod_context(engine);
        match self.pod().and_then(scheduling::recorded_placement) {
            Some(placed) => PodContext { scheduling: Cow::Owned(placed), ..context },
            None => context,
        }
    }

    /// A Job by its name.
    #[must_use]
    pub fn job(&self, name: &str) -> Option<&Job> {
        job::find(&self.jobs, name)
    }

    /// The progress of a Job.
    pub(crate) fn progress(&self, name: &str) -> JobProgress<'_> {
        JobProgress::of(&self.jobs, &self.pods, name)
    }

    /// The result of a Job's last pod, as the agent reported it.
    #[must_use]
    pub fn job_outcome(&self, name: &str) -> Option<runtime::job::outcome::AgentOutcome> {
        job::last_end(&self.pods, name).map(runtime::job::outcome::AgentOutcome::of)
    }
}

/// What is known about the pod that is to replace the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PlacementCheck {
    /// It has the placement of the present one, a trial's pod ran with its placement, or no trial is possible.
    #[default]
    Verified,
    /// The trial has yet to start, next to this pod.
    Due(Box<TrialInputs>),
    /// Not known yet: why.
    Pending(String),
    /// It would not start now: why.
    Refused(String),
}

/// What a trial needs to know about the present pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialInputs {
    /// The pod; without its requests if the trial has to request all that the spec does.
    pub pod: trial_pod::PresentPod,
    /// Whether a first trial ran on another node, so this one requests all that the spec does.
    pub requests_all: bool,
}
