//! Pure: what was seen. Pure data, unknowns included.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use api::sample_db::{ADOPT, Scheduling};
use jiff::Timestamp;
use runtime::job::{self, Progress};
use runtime::plan::{ChildState, DryRun};
use runtime::pod::beside;
use runtime::projections::{Claim, ConfigMap, Job, Pod, Service, StatefulSet};

use super::answer::Asked;
use super::catalog::Catalog;
use super::ownership;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::labels::OWNER_UID;
use crate::operand::pod::Place;
use crate::operand::{database_state, names, scheduling};

/// A database and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub db: Arc<SampleDB>,
    /// The releases that can be had; why they cannot be told, otherwise.
    pub catalog: Result<Arc<Catalog>, String>,
    /// The server that serves.
    pub server: ChildState<StatefulSet>,
    /// The server of the version that an upgrade leads to.
    pub successor: ChildState<StatefulSet>,
    /// All servers of its name, by name: during a major upgrade there are two.
    pub servers: Vec<Arc<StatefulSet>>,
    /// The headless Service.
    pub peers: ChildState<Service>,
    /// The Service that applications use.
    pub read_write: ChildState<Service>,
    /// The connection details.
    pub connection: ChildState<ConfigMap>,
    /// The server's parameters.
    pub configuration: ChildState<ConfigMap>,
    /// Its claims, by name; also those that an earlier database of the name has left.
    pub claims: Vec<Arc<Claim>>,
    /// Its pods: the server's and those of Jobs, by name.
    pub pods: Vec<Arc<Pod>>,
    /// The names of servers' pods that are held by pods of others.
    pub taken: BTreeSet<String>,
    /// The pods that take or prove its last snapshot; only looked at while it is being deleted.
    pub saving: Vec<Arc<Pod>>,
    /// Its Jobs, by name.
    pub jobs: Vec<Arc<Job>>,
    /// Its snapshots, by name.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Snapshots that it may be filled from; only looked at before it has been.
    pub sources: Vec<Arc<Snapshot>>,
    /// The superuser's Secret.
    pub system: SecretSeen,
    /// The applications' Secret.
    pub app: SecretSeen,
    /// When the superuser's Secret was made again, if it was made for data that are older.
    pub system_remade: Option<String>,
    /// The SQL of the initial configuration; only looked at while it depends on it.
    pub init_sources: InitSources,
    /// What the server said.
    pub asked: Asked,
    /// Why the server's pod has failed for good, if it has: nothing of it is started again. Only looked at while nothing of it
    /// runs.
    pub failed: Option<String>,
    /// What the API server says of the pod that is to replace the server's; accepted as long as it has not been asked. Only
    /// asked before a StatefulSet gets its template, and before a pod is deleted for it that is ready.
    pub replacement: DryRun,
    /// Whether the pod that is to replace the server's would start; proven as long as that has not been looked at.
    pub placement: Placement,
    /// For how long the server has not answered, whether it is ready or not; nothing as long as it does, or does not run.
    pub silent_for: Option<Duration>,
    /// When the manager that runs now looked for the first time; as if it had always done so, if that is not known.
    pub began: Option<Timestamp>,
    /// The note of a finished copy in the server that is to follow: it is there before the Job's end is heard of.
    pub copied: Option<PgUpgradeResult>,
    /// Hosts and ports outside the cluster at which the Service is found; only looked at if it is published.
    pub external: Vec<String>,
    /// The claim of the user's that the final snapshot is on, or goes to; only read while the object is being deleted.
    pub existing_claim: Option<Arc<Claim>>,
    /// Whether the claim that the spec names for snapshots holds the data of a database.
    pub snapshots_on_data: bool,
    /// Whether the namespace is being deleted; only looked at while the object is.
    pub namespace_going: bool,
    /// Whether the namespace dictates whom pods run as.
    pub namespace_assigns_uids: bool,
    /// The image of the agent, which is the manager's own.
    pub agent_image: Arc<str>,
}

/// How the server is addressed in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// Not at all.
    Nothing,
    /// Only whether it answers: it runs, and is not ready.
    Knock,
    /// It is asked about itself: it is ready, and has been configured.
    Ask,
}

/// What is known of a Secret; never what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSeen {
    /// It could not be read.
    Unknown(String),
    /// There is none.
    Absent,
    /// It is there and has what it must.
    Usable,
    /// It can be used, but what follows from its password, such as the URI, is that of another one.
    Outdated,
    /// It has not, or what it has cannot be used: why.
    Malformed(String),
    /// It bears our name, and is not ours.
    Foreign,
}

/// The SQL of the initial configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitSources {
    /// It could not be read: why.
    Unknown(String),
    /// Some of it is not there: what.
    Missing(String),
    /// All of it is there; its sha256.
    Digest(String),
}

impl Observed {
    /// The pod of the server that serves, if it is there.
    #[must_use]
    pub fn pod(&self) -> Option<&Pod> {
        self.pod_named(&crate::operand::names::pod(&self.db))
    }

    /// Whether the pod of the server that serves is ready. One that is on its way out is not: it takes no new connections.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let stays = self.pod().filter(|pod| !pod.meta.deleting);
        stays.and_then(|pod| pod.running.as_deref()).is_some_and(|running| running.ready)
    }

    /// Whether there is a server that could answer. While the init step of its pod makes or restores data, there is none.
    #[must_use]
    pub fn runs(&self) -> bool {
        let running = self.pod().filter(|pod| !pod.meta.deleting).and_then(|pod| pod.running.as_deref());
        running.and_then(|running| running.container(names::SERVER)).is_some_and(|server| server.running)
    }

    /// How the server that serves is addressed. One that recovers from a crash answers that it does.
    #[must_use]
    pub fn contact(&self) -> Contact {
        match (self.runs(), self.is_ready(), self.db.status.initialization.completed_at) {
            (true, false, _) => Contact::Knock,
            (true, true, Some(_)) => Contact::Ask,
            (true, true, None) | (false, ..) => Contact::Nothing,
        }
    }

    /// A pod by its name.
    #[must_use]
    pub fn pod_named(&self, name: &str) -> Option<&Pod> {
        self.pods.iter().map(|pod| &**pod).find(|pod| *pod.meta.key.name == *name)
    }

    /// Its servers that are there to stay.
    pub(crate) fn own_servers(&self) -> impl Iterator<Item = &StatefulSet> {
        let own = |set: &&StatefulSet| set.meta.controlled_by(&self.db.meta.uid) && !set.meta.deleting;
        self.servers.iter().map(|set| &**set).filter(own)
    }

    /// A claim by its name.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<&Claim> {
        self.claims.iter().map(|claim| &**claim).find(|claim| *claim.meta.key.name == *name)
    }

    /// Whether a claim was made for the database, or is taken over because a person says so: also that of its very data, if both
    /// have come back under other uids, from a backup.
    #[must_use]
    pub fn is_own(&self, claim: &Claim) -> bool {
        let current = self.db.status.storage.claim.as_deref() == Some(&*claim.meta.key.name);
        let named = self.db.annotations.get(ADOPT).filter(|_| current);
        let returned = named.is_some_and(|uid| claim.labels.get(OWNER_UID).is_some_and(|owner| **owner == **uid));
        returned || ownership::is_own(&self.db, &claim.labels)
    }

    /// The snapshots of this very database, under whichever uid: one of the same name may have left others.
    pub(crate) fn own_snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        let (uid, earlier) = (&self.db.meta.uid, &self.db.status.storage.adopted_from);
        let all = self.snapshots.iter().map(|snapshot| &**snapshot);
        let own = move |of: &str| *of == **uid || earlier.iter().any(|uid| uid == of);
        all.filter(move |snapshot| snapshot.status.sample_db_uid.as_deref().is_some_and(own))
    }

    /// Where the server's pods are to run, and as whom, with that image of the engine.
    pub(crate) fn place<'a>(&'a self, engine: &'a str) -> Place<'a> {
        Place {
            scheduling: self.scheduling(),
            engine,
            agent: &self.agent_image,
            namespace_assigns_uids: self.namespace_assigns_uids,
        }
    }

    /// Where the server's pods are to run: while writers are shut out for an upgrade, as the present one does, since nothing else has
    /// been tried.
    pub(crate) fn scheduling(&self) -> Cow<'_, Scheduling> {
        let present = self.pod().filter(|_| database_state::shuts_out(&self.db)).and_then(scheduling::placed);
        present.map_or(Cow::Borrowed(&self.db.spec.scheduling), Cow::Owned)
    }

    /// Where the pods of Jobs run: as the server's does now, whatever the spec says since, which may be in vain.
    pub(crate) fn place_of_jobs<'a>(&'a self, engine: &'a str) -> Place<'a> {
        let place = self.place(engine);
        match self.pod().and_then(scheduling::placed) {
            Some(placed) => Place { scheduling: Cow::Owned(placed), ..place },
            None => place,
        }
    }

    /// A Job by its name.
    #[must_use]
    pub fn job(&self, name: &str) -> Option<&Job> {
        job::find(&self.jobs, name)
    }

    /// How far a Job has come.
    pub(crate) fn progress(&self, name: &str) -> Progress<'_> {
        Progress::of(&self.jobs, &self.pods, name)
    }

    /// The last words of a Job's pods, as the agent left them.
    #[must_use]
    pub fn words(&self, name: &str) -> Option<crate::operand::job_result::Words> {
        job::last_end(&self.pods, name).map(crate::operand::job_result::Words::of)
    }
}

/// What is known of the pod that is to replace the server's.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Placement {
    /// It has the placement of the present one, or a trial's pod has run with its own; or none can be made.
    #[default]
    Proven,
    /// The trial is yet to begin, beside this pod.
    Due(Box<Present>),
    /// Not yet whether it would start: why.
    Trying(String),
    /// It would not start now: why.
    Refused(String),
}

/// What is to be known of the present pod, for another one beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Present {
    /// Of the pod; without its requests, where another one has to ask for all that the spec does.
    pub pod: beside::Present,
    /// Whether a trial has run on another node, so that another one asks for all that the spec does.
    pub whole: bool,
}
