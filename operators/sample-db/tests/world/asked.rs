//! What the operator sees of PostgreSQL and of Secrets, and what becomes of its acts upon them.

use std::collections::BTreeMap;

use api::ReconcileReason;
use api::sample_db::SampleDBReason;
use jiff::{SignedDuration, Timestamp};
use runtime::Error;
use runtime::cache::View as _;
use runtime::testing::World;
use runtime::testing::branching::Answer;
use runtime::views::Pod;
use sample_db::SampleDB;
use sample_db::plan::objects::SecretOf;
use sample_db::plan::{self, Asked, DbAct, Line, Login, SecretSeen, names};

use crate::kubelet::{Server, mounted};
use crate::pods::{PodSeen, seen};
use crate::site::{Secret, Site, is_going, text};

/// For how long what was read of a Secret, or said by a server, is taken for true.
const SECRET: SignedDuration = SignedDuration::from_secs(55);
const SAID: SignedDuration = SignedDuration::from_secs(20);
/// The parameters that hold from the next start on.
const STARTING: [&str; 1] = ["max_connections"];

/// What a manager remembers between two looks; it is gone with it.
#[derive(Clone, Debug, Default)]
pub struct Held {
    secrets: BTreeMap<String, (Timestamp, Secret)>,
    said: BTreeMap<String, (String, Timestamp, Asked)>,
    refused: BTreeMap<String, BTreeMap<String, String>>,
}

/// What a look at a Secret gave.
pub struct Look {
    pub seen: SecretSeen,
    pub secret: Option<Secret>,
}

fn name(db: &SampleDB, of: SecretOf) -> String {
    match of {
        SecretOf::App => names::app_secret(db),
        SecretOf::System => names::system_secret(db),
    }
}

impl Site {
    /// What there is of one of a database's Secrets.
    pub fn look(&mut self, db: &SampleDB, of: SecretOf) -> Look {
        let name = name(db, of);
        if let Some((_, secret)) = self.held.secrets.get(&name).filter(|(at, _)| self.now.duration_since(*at) < SECRET)
        {
            return Look { seen: SecretSeen::Usable, secret: Some(secret.clone()) };
        }
        self.held.secrets.remove(&name);
        let Some(secret) = self.secrets.get(&name).cloned() else {
            return Look { seen: SecretSeen::Absent, secret: None };
        };
        let given = of == SecretOf::App && db.spec.credentials.secret_ref.is_some();
        let takes = !db.meta.deleting || db.status.initialization.data_created_at.is_some();
        let adopted = db.annotations.get(api::sample_db::ADOPT).filter(|_| takes).map(|uid| uid.to_string());
        let taken = secret.owner.as_ref().is_some_and(|of| db.status.storage.adopted_from.contains(of));
        let ours = secret.owner.as_deref() == Some(&*db.meta.uid)
            || secret.owner.is_some() && secret.owner == adopted
            || taken;
        if !given && !ours {
            return Look { seen: SecretSeen::Foreign, secret: None };
        }
        self.held.secrets.insert(name, (self.now, secret.clone()));
        Look { seen: SecretSeen::Usable, secret: Some(secret) }
    }

    /// What the server of a database says, if it can be asked.
    pub fn ask(&mut self, world: &World, db: &SampleDB, pod: &plan::Observed, secrets: (&Look, &Look)) -> Asked {
        let (Some(system), app) = (&secrets.0.secret, &secrets.1.secret) else { return Asked::Nothing };
        let reached = pod.pod().and_then(|pod| {
            let running = pod.running.as_deref().filter(|running| running.ready && !pod.meta.deleting)?;
            running.ip.as_deref().map(|_| pod.meta.uid.to_string())
        });
        let Some(uid) = reached else { return Asked::Nothing };
        let key = db.meta.key.name.to_string();
        let app = app.as_ref().map(|app| app.password.clone());
        let step = db.status.upgrade.step;
        let of = format!("{uid} {} {app:?} {:?} {step:?}", system.password, db.spec.engine.parameters);
        if let Some((held, at, said)) = self.held.said.get(&key)
            && *held == of
            && self.now.duration_since(*at) < SAID
        {
            return said.clone();
        }
        let said = self.answer(world, db, &uid, &system.password, app);
        if matches!(said, Asked::Answered(_)) {
            self.held.said.insert(key, (of, self.now, said.clone()));
        }
        said
    }

    /// The note of a copy in the server of that pod.
    pub fn copied(&self, pod: &str) -> Option<plan::Said> {
        let data = self.disks.data(&self.claim_of(pod)?)?;
        let (of, at) = data.copy.clone()?;
        Some(plan::Said {
            system_identifier: Some(data.id.clone()),
            from_system_identifier: Some(of),
            closed_at: Some(at),
            ..plan::Said::default()
        })
    }

    fn answer(&self, world: &World, db: &SampleDB, pod: &str, system: &str, app: Option<String>) -> Asked {
        let Some(server) = self.lives.get(pod).and_then(|life| life.server.clone()) else {
            return Asked::Failed("connection refused".to_owned());
        };
        let Some(data) = self.disks.data(&server.claim) else { return Asked::Failed("no data".to_owned()) };
        if data.superuser != system {
            return Asked::BadPassword;
        }
        let pods = seen(world);
        let Some(pod) = pods.iter().find(|of| of.uid == pod) else { return Asked::Failed("gone".to_owned()) };
        let line = |automatic| {
            move |(name, value): (&String, &String)| Line {
                name: name.clone(),
                value: value.clone(),
                automatic,
                mounted: !automatic,
            }
        };
        let file = mounted(world, pod);
        let lines: Vec<Line> = file.iter().map(line(false)).chain(data.settings.iter().map(line(true))).collect();
        let restart = self.waiting(world, pod, &server);
        let ours = [("listen_addresses", "*"), ("password_encryption", "scram-sha-256"), ("wal_level", "replica")];
        let ours = ours.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let wanted = &plan::wanted(db);
        let known = wanted.keys().cloned().collect();
        let mut parameters = plan::parameters(wanted, &ours, &lines, &known, restart);
        parameters.refused = self
            .held
            .refused
            .get(&*db.meta.key.name)
            .filter(|of| **of == db.spec.engine.parameters)
            .map(|_| "bad".to_owned());
        let login = match (data.open, app) {
            (false, _) => Login::ShutOut,
            (true, None) => Login::Unknown,
            (true, app) if data.app == app => Login::In,
            (true, _) => Login::WrongPassword,
        };
        let (system_identifier, version) = (data.id.clone(), server.release);
        let bytes = 1 << 20;
        let (room, attempt) = (None, None);
        Asked::Answered(Box::new(plan::Answer { system_identifier, version, login, parameters, bytes, room, attempt }))
    }

    /// The parameters that wait for the next start of a server.
    fn waiting(&self, world: &World, pod: &PodSeen, server: &Server) -> Vec<String> {
        let holds = self.effective(world, pod, &server.claim);
        let waits = |name: &&&str| holds.get(**name) != server.started.get(**name);
        STARTING.iter().filter(waits).map(|name| (*name).to_owned()).collect()
    }

    /// Whether the server in a pod is to start again, be that it has been asked or not.
    pub fn waits_for_restart(&self, world: &World, pod: &str) -> bool {
        let server = self.lives.get(pod).and_then(|life| life.server.as_ref());
        let pods = seen(world);
        let pod = pods.iter().find(|of| of.uid == pod);
        server.zip(pod).is_some_and(|(server, pod)| !self.waiting(world, pod, server).is_empty())
    }

    /// Performs an act, unless the question is lost; the answer may be.
    pub fn act(&mut self, world: &World, db: &SampleDB, act: &DbAct, answer: Answer) -> Result<(), Error> {
        let lost = || Err(Error::transient(SampleDBReason::ConnectionFailed, "there is no answer"));
        if answer == Answer::Unasked {
            return lost();
        }
        let done = self.perform(world, db, act);
        if answer == Answer::Lost { lost() } else { done }
    }

    fn perform(&mut self, world: &World, db: &SampleDB, act: &DbAct) -> Result<(), Error> {
        let uid = db.meta.uid.to_string();
        match act {
            DbAct::MakeSecret(of) => {
                let name = name(db, *of);
                self.held.secrets.remove(&name);
                if self.going {
                    return Err(Error::transient(ReconcileReason::Forbidden, "the namespace is being terminated"));
                }
                let remade = plan::may_have_data(db).then(|| self.now.to_string());
                let password = format!("password-{}", self.disks.fresh());
                self.secrets.entry(name).or_insert(Secret { owner: Some(uid), password, remade });
                return Ok(());
            }
            DbAct::DropSecret(of) => {
                let name = name(db, *of);
                self.held.secrets.remove(&name);
                let lineage = |of: &String| *of == uid || db.status.storage.adopted_from.contains(of);
                if self.secrets.get(&name).is_some_and(|secret| secret.owner.as_ref().is_some_and(lineage)) {
                    self.secrets.remove(&name);
                }
                return Ok(());
            }
            // The Secrets of this world hold a password, and nothing that follows from it.
            DbAct::RewriteSecret(_) => return Ok(()),
            DbAct::SetPassword | DbAct::SetParameters { .. } | DbAct::LetIn | DbAct::ShutOut => {}
        }
        let away = || Error::transient(SampleDBReason::ServerAway, "the server has gone away meanwhile");
        let key = db.meta.key.name.to_string();
        self.held.said.remove(&key);
        let system = self.look(db, SecretOf::System).secret.ok_or_else(away)?;
        // Nothing but its password needs that one.
        let app = self.look(db, SecretOf::App).secret;
        let pod = world.get(Pod::KIND, &db.meta.key.sibling(&names::pod(db))).filter(|pod| !is_going(pod));
        let pod = pod.map(|pod| text(&pod["metadata"]["uid"])).ok_or_else(away)?;
        let claim = self.claim_of(&pod).ok_or_else(away)?;
        let data = self.disks.volume(&claim).data.as_mut().ok_or_else(away)?;
        if data.superuser != system.password {
            return Err(Error::transient(
                SampleDBReason::AuthenticationFailed,
                "the server does not take the password",
            ));
        }
        match act {
            DbAct::LetIn => (data.open, data.shut_since) = (true, None),
            DbAct::ShutOut => (data.open, data.shut_since) = (false, None),
            DbAct::SetPassword => data.app = Some(app.ok_or_else(away)?.password),
            DbAct::SetParameters { set, reset } => {
                reset.iter().for_each(|name| drop(data.settings.remove(name)));
                for (name, value) in set {
                    if value == "bad" {
                        self.held.refused.insert(key, db.spec.engine.parameters.clone());
                        return Ok(());
                    }
                    data.settings.insert(name.clone(), value.clone());
                }
            }
            DbAct::MakeSecret(_) | DbAct::DropSecret(_) | DbAct::RewriteSecret(_) => {}
        }
        Ok(())
    }
}
