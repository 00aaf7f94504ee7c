//! What comes next on the way to a database that serves. Pure.

use runtime::cache::View;
use runtime::plan::{Apply, Delete, Effect, Seen};
use runtime::views::{Child, Claim, Job, JobEnd, Pod};

use super::objects::{self, OWNER_UID, Place, SecretOf, TEMPLATE};
use super::wish::{Refusal, Wish};
use super::{DbAct, Observed, SecretSeen, Words, names, restore};
use crate::Snapshot;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// All is as wished.
    Rest,
    /// Nothing can be done until something changes.
    Wait(&'static str, String),
    /// Nothing can be done until a person does something.
    Stuck(&'static str, String),
    /// These effects, which the reason and the message tell of.
    Take(Vec<Effect<DbAct>>, &'static str, String),
}

impl Step {
    fn stuck((reason, message): Refusal) -> Self {
        Self::Stuck(reason, message)
    }

    fn take(effect: Effect<DbAct>, reason: &'static str, message: &str) -> Self {
        Self::Take(vec![effect], reason, message.to_owned())
    }
}

/// The next step.
#[must_use]
pub fn next(observed: &Observed, wish: &Wish, source: Option<&Snapshot>) -> Step {
    secrets(observed)
        .or_else(|| volume(observed, wish))
        .or_else(|| children(observed, wish))
        .or_else(|| server(observed, wish))
        .or_else(|| source.and_then(|source| fill(observed, wish, source)))
        .or_else(|| init(observed, wish))
        .unwrap_or(Step::Rest)
}

/// The Secrets come first: the data are made with the superuser's password.
fn secrets(observed: &Observed) -> Option<Step> {
    let db = &*observed.db;
    let given = db.spec.credentials.secret_ref.is_some();
    let all = [
        (SecretOf::System, &observed.system, names::system_secret(db), false),
        (SecretOf::App, &observed.app, names::app_secret(db), given),
    ];
    all.into_iter().find_map(|(of, seen, name, given)| match seen {
        SecretSeen::Usable => None,
        SecretSeen::Unknown(why) => {
            Some(Step::Wait("SecretUnreadable", format!("the Secret {name} cannot be read: {why}")))
        }
        SecretSeen::Absent if given => Some(Step::Stuck(
            "SecretMissing",
            format!("the Secret {name} of spec.credentials.secretRef is missing: make it, with the entries username and password"),
        )),
        SecretSeen::Absent => {
            Some(Step::take(Effect::Act(DbAct::MakeSecret(of)), "Provisioning", "making the Secrets"))
        }
        SecretSeen::Malformed(why) => Some(Step::Stuck("SecretMalformed", format!("the Secret {name} {why}"))),
        SecretSeen::Foreign => Some(Step::Stuck(
            "NameTaken",
            format!("the Secret {name} exists and does not belong to this SampleDB: delete or rename it, or rename this SampleDB; it is left untouched"),
        )),
    })
}

/// The data volume: made once, and never again.
fn volume(observed: &Observed, wish: &Wish) -> Option<Step> {
    let db = &*observed.db;
    let lasting = db.status.initialization.data_created_at.is_some();
    let Some(claim) = observed.claim(&wish.claim) else {
        if lasting {
            let message = format!(
                "the claim {} of the data is gone: bring it back, or make a new SampleDB with bootstrap.fromSnapshot",
                wish.claim
            );
            return Some(Step::Stuck("DataMissing", message));
        }
        let apply = Effect::Apply(objects::data_claim(db, &wish.claim));
        return Some(Step::take(apply, "Provisioning", "making the data volume"));
    };
    if claim.meta.deleting {
        return Some(Step::Wait("WaitingForDeletion", format!("the claim {} is being deleted", wish.claim)));
    }
    if let Some(refusal) = is_others(observed, claim) {
        return Some(Step::stuck(refusal));
    }
    let replaced = db.status.storage.claim_uid.as_deref().is_some_and(|uid| uid != &*claim.meta.uid);
    (lasting && replaced).then(|| {
        let message = format!(
            "the claim {} is not the one that the data were on: bring that one back, or make a new SampleDB with \
             bootstrap.fromSnapshot",
            wish.claim
        );
        Step::Stuck("DataMissing", message)
    })
}

/// Why a claim of the right name is not to be used.
fn is_others(observed: &Observed, claim: &Claim) -> Option<Refusal> {
    let owner = claim.labels.get(OWNER_UID).map_or("", String::as_str);
    let ours = *owner == *observed.db.meta.uid;
    let adopted = observed.db.annotations.get(api::sample_db::ADOPT).is_some_and(|uid| **uid == *owner);
    (!ours && !adopted).then(|| {
        let message = format!(
            "the claim {} was left by an earlier SampleDB of this name: to take its data over, annotate this one with \
             {}={owner}; else delete the claim, or rename this SampleDB",
            claim.meta.key.name,
            api::sample_db::ADOPT
        );
        ("VolumeLeft", message)
    })
}

/// All that stands around the server, and the server.
fn children(observed: &Observed, wish: &Wish) -> Option<Step> {
    let db = &*observed.db;
    let obstacle = observed.server.obstacle("StatefulSet").or_else(|| observed.peers.obstacle("headless Service"));
    let obstacle = obstacle.or_else(|| observed.configuration.obstacle("ConfigMap of the parameters"));
    if let Some((reason, message)) = obstacle {
        return Some(Step::Wait(reason, message));
    }
    let mut applies: Vec<Apply> = Vec::new();
    applies.extend(kept(&observed.configuration, objects::configuration(db)));
    applies.extend(kept(&observed.connection, objects::connection(db)));
    applies.extend(kept(&observed.peers, objects::peers(db)));
    applies.extend(kept(&observed.read_write, objects::read_write(db)));
    let server = objects::server(db, wish, &observed.agent_image);
    let live = observed.server.ours().map(|server| (&server.meta, server.fingerprint));
    applies.extend(server.unless(live));
    let effects: Vec<_> = applies.into_iter().map(Effect::Apply).collect();
    (!effects.is_empty()).then(|| Step::Take(effects, "Provisioning", "making the server and its Services".to_owned()))
}

fn kept<K>(seen: &Seen<Child<K>>, wanted: Apply) -> Option<Apply>
where
    Child<K>: View,
{
    wanted.unless(seen.ours().map(|child| (&child.meta, child.fingerprint)))
}

/// The server's pod: replaced if it is not as wished, else waited for.
fn server(observed: &Observed, wish: &Wish) -> Option<Step> {
    let name = names::pod(&observed.db);
    let Some(pod) = observed.pod() else {
        return Some(Step::Wait("ServerStarting", format!("waiting for the pod {name}")));
    };
    if pod.meta.deleting {
        return Some(Step::Wait("ServerStarting", format!("waiting until the pod {name} is gone, and another comes")));
    }
    let running = pod.running.as_deref()?;
    if running.annotations.get(TEMPLATE).map(String::as_str) != Some(objects::template(&observed.db, wish).as_str()) {
        let delete = Delete { kind: Pod::KIND, key: pod.meta.key.clone(), uid: pod.meta.uid.clone(), unless: None };
        return Some(Step::take(
            Effect::Delete(delete),
            "ServerRestarting",
            "the server is started again as the spec has it",
        ));
    }
    if let Some((reason, message)) = lost(pod) {
        return Some(Step::Stuck(reason, message));
    }
    if running.ready {
        return None;
    }
    Some(match &pod.trouble {
        Some(trouble) if trouble.lasting => {
            let said = failure(pod).map_or_else(|| trouble.message.clone(), |(_, said)| said);
            Step::Stuck("ServerFails", format!("the server does not start: {said}"))
        }
        Some(trouble) => Step::Wait("ServerStarting", format!("the server does not start: {}", trouble.message)),
        None => Step::Wait("ServerStarting", "waiting for the server to accept connections".to_owned()),
    })
}

/// What the init step, or the server, last failed with.
fn failure(pod: &Pod) -> Option<(String, String)> {
    let words = Words::of(pod)?;
    words.failure().map(|(reason, message)| (reason.to_owned(), message))
}

/// What only a person can mend of the data.
fn lost(pod: &Pod) -> Option<(&'static str, String)> {
    const OF_DATA: [&str; 4] = ["DataMissing", "ForeignData", "WrongMajor", "DataCorrupt"];
    let (reason, message) = failure(pod)?;
    let reason = OF_DATA.into_iter().find(|of| **of == *reason)?;
    Some((reason, format!("{message}; nothing is made anew over it")))
}

/// The snapshot's data into the new database, before anybody else's.
fn fill(observed: &Observed, wish: &Wish, source: &Snapshot) -> Option<Step> {
    let db = &*observed.db;
    let name = restore::job_name(db);
    let doing = || format!("restoring the snapshot {}", source.meta.key.name);
    match observed.job(&name).map(|job| &job.end) {
        None => {
            let place = Place { scheduling: &db.spec.scheduling, engine: &wish.image, agent: &observed.agent_image };
            let create = Effect::Create(objects::job(restore::job(db, source), &place));
            Some(Step::take(create, "Restoring", &doing()))
        }
        Some(None) => Some(Step::Wait("Restoring", doing())),
        // The status is about to say that it is done.
        Some(Some(JobEnd::Complete)) => Some(Step::Wait("Restoring", doing())),
        Some(Some(JobEnd::Failed { message, .. })) => {
            let words = observed.words(&name);
            let why = words.as_ref().and_then(Words::failure).map_or_else(|| message.clone(), |(_, why)| why);
            let message = format!(
                "{} failed: {why}; mend what it says, then delete the Job {name} to have it tried again",
                doing()
            );
            Some(Step::Stuck("RestoreFailed", message))
        }
    }
}

/// The initial configuration, once: that the database's own note says so, the Job has found.
fn init(observed: &Observed, wish: &Wish) -> Option<Step> {
    let db = &*observed.db;
    let name = names::init_job(db);
    let job = observed.job(&name);
    let delete = |job: &Job| {
        Effect::Delete(Delete { kind: Job::KIND, key: job.meta.key.clone(), uid: job.meta.uid.clone(), unless: None })
    };
    if db.status.initialization.completed_at.is_some() {
        let restore = observed.job(&restore::job_name(db));
        let left = job.or(restore).filter(|job| !job.meta.deleting)?;
        return Some(Step::take(delete(left), "Initializing", "clearing up after the initial configuration"));
    }
    match job.map(|job| (job, &job.end)) {
        None => {
            let place = Place { scheduling: &db.spec.scheduling, engine: &wish.image, agent: &observed.agent_image };
            let create = Effect::Create(objects::job(super::init::job(db), &place));
            Some(Step::take(create, "Initializing", "configuring the new database"))
        }
        // The status is about to say that it is done.
        Some((_, Some(JobEnd::Complete))) => None,
        Some((job, Some(JobEnd::Failed { message, .. }))) => {
            let words = observed.words(&name);
            let why = words.as_ref().and_then(Words::failure).map_or_else(|| message.clone(), |(_, why)| why);
            let message = format!(
                "the initial configuration failed, and nothing of it stayed: {why}; mend what it says, then delete the Job \
                 {} to have it tried again",
                job.meta.key.name
            );
            Some(Step::Stuck("InitFailed", message))
        }
        Some((_, None)) => Some(Step::Wait("Initializing", "configuring the new database".to_owned())),
    }
}
