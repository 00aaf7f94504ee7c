//! What PostgreSQL answers, and what becomes of the operator's acts upon it and upon Secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_protocol::PgUpgradeResult;
use api::ReconcileReason;
use api::sample_db::SampleDBReason;
use jiff::Timestamp;
use runtime::Error;
use runtime::testing::World;
use runtime::testing::branching::Answer;
use sample_db::SampleDB;
use sample_db::database::objects::{self, SecretOf};
use sample_db::database::{self, Asked, DbAct, FileSetting, Login};
use sample_db::operand::names;

use crate::kubelet::{Server, mounted};
use crate::manager::Manager;
use crate::pods::{PodSeen, seen};
use crate::site::{Secret, Site};

/// The parameters that hold from the next start on.
const STARTING: [&str; 1] = ["max_connections"];

/// What a manager remembers of servers between two reconciles; it is gone with it.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// What each server said, with what that depends on.
    pub said: BTreeMap<String, (String, Timestamp, Asked)>,
    /// Since when each server has not answered.
    pub silent: BTreeMap<String, Timestamp>,
    /// When the record of a copy was looked for last.
    pub noted: BTreeMap<String, Timestamp>,
    /// Whether the namespace was read.
    pub namespace: bool,
    refused: BTreeMap<String, BTreeMap<String, String>>,
}

fn name(db: &SampleDB, of: SecretOf) -> String {
    match of {
        SecretOf::App => names::app_secret(db),
        SecretOf::System => names::system_secret(db),
    }
}

/// What stands in a Secret with that password.
fn entries(db: &SampleDB, of: SecretOf, password: &str) -> BTreeMap<String, String> {
    objects::entries(db, of, password).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Site {
    /// Whether the server in a pod answers.
    pub fn serves(&self, pod: &str) -> bool {
        self.lives.get(pod).is_some_and(|life| life.server.is_some() && life.stopped.is_none())
    }

    /// The note of a copy in the server of that pod.
    pub fn copied(&self, pod: &str) -> Option<PgUpgradeResult> {
        let data = self.disks.data(&self.claim_of(pod)?)?;
        let (of, at) = data.copy.clone()?;
        Some(PgUpgradeResult {
            system_identifier: Some(data.id.clone()),
            from_system_identifier: Some(of),
            closed_at: Some(at),
            ..PgUpgradeResult::default()
        })
    }

    /// What the server in a pod says to whom knows these passwords.
    pub fn answer(&self, world: &World, db: &SampleDB, pod: &str, system: &str, app: Option<String>) -> Asked {
        let Some(server) = self.lives.get(pod).and_then(|life| life.server.clone()).filter(|_| self.serves(pod)) else {
            return Asked::Failed("connection refused".to_owned());
        };
        let Some(data) = self.disks.data(&server.claim) else { return Asked::Failed("no data".to_owned()) };
        if data.superuser != system {
            return Asked::BadPassword;
        }
        let pods = seen(world);
        let Some(pod) = pods.iter().find(|of| of.uid == pod) else { return Asked::Failed("gone".to_owned()) };
        let line = |automatic| {
            move |(name, value): (&String, &String)| FileSetting {
                name: name.clone(),
                value: value.clone(),
                automatic,
                mounted: !automatic,
            }
        };
        let file = mounted(world, pod);
        let lines: Vec<FileSetting> =
            file.iter().map(line(false)).chain(data.settings.iter().map(line(true))).collect();
        let restart = self.waiting(world, pod, &server);
        let ours = [("listen_addresses", "*"), ("password_encryption", "scram-sha-256"), ("wal_level", "replica")];
        let ours = ours.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let wanted = &database::wanted(db);
        let known = wanted.keys().cloned().collect();
        let mut parameters = database::parameters(wanted, &ours, &lines, &known, restart);
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
        Asked::Answered(Box::new(database::Answer {
            system_identifier,
            version,
            login,
            parameters,
            bytes,
            room,
            attempt,
        }))
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
    pub fn act(
        &mut self,
        world: &World,
        manager: &Manager,
        db: &Arc<SampleDB>,
        act: &DbAct,
        answer: Answer,
    ) -> Result<(), Error> {
        let lost = || Err(Error::transient(SampleDBReason::ConnectionFailed, "there is no answer"));
        if answer == Answer::Unasked {
            return lost();
        }
        let done = self.perform(world, manager, db, act);
        if answer == Answer::Lost { lost() } else { done }
    }

    fn perform(&mut self, world: &World, manager: &Manager, db: &Arc<SampleDB>, act: &DbAct) -> Result<(), Error> {
        let uid = db.meta.uid.to_string();
        match act {
            DbAct::MakeSecret(of) => {
                manager.forget_secret(db, *of);
                if self.going {
                    return Err(Error::transient(ReconcileReason::Forbidden, "the namespace is being terminated"));
                }
                let remade = sample_db::operand::database_state::may_have_data(db).then(|| self.now.to_string());
                let password = format!("password-{}", self.disks.fresh());
                let entries = entries(db, *of, &password);
                self.secrets.entry(name(db, *of)).or_insert(Secret { owner: Some(uid), password, remade, entries });
                return Ok(());
            }
            DbAct::RewriteSecret(of) => {
                manager.forget_secret(db, *of);
                if let Some(secret) = self.secrets.get_mut(&name(db, *of)) {
                    secret.entries = entries(db, *of, &secret.password);
                }
                return Ok(());
            }
            DbAct::DropSecret(of) => {
                let name = name(db, *of);
                manager.forget_secret(db, *of);
                let lineage = |of: &String| *of == uid || db.status.storage.adopted_from.contains(of);
                if self.secrets.get(&name).is_some_and(|secret| secret.owner.as_ref().is_some_and(lineage)) {
                    self.secrets.remove(&name);
                }
                return Ok(());
            }
            DbAct::SetPassword | DbAct::SetParameters { .. } | DbAct::LetIn | DbAct::ShutOut => {}
        }
        let away = || Error::transient(SampleDBReason::ServerAway, "the server has gone away meanwhile");
        let access = manager.access(world, self, db)?;
        let key = db.meta.key.name.to_string();
        self.held.said.remove(&key);
        let claim = self.claim_of(&access.pod).filter(|_| self.serves(&access.pod)).ok_or_else(away)?;
        let data = self.disks.volume(&claim).data.as_mut().ok_or_else(away)?;
        if data.superuser != access.system.text() {
            return Err(Error::transient(
                SampleDBReason::AuthenticationFailed,
                "the server does not take the password",
            ));
        }
        match act {
            DbAct::LetIn => (data.open, data.shut_since) = (true, None),
            DbAct::ShutOut => (data.open, data.shut_since) = (false, None),
            DbAct::SetPassword => data.app = Some(access.app.ok_or_else(away)?.text().to_owned()),
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
