//! The answers of PostgreSQL, and the operator's acts on servers and Secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_protocol::PgUpgradeResult;
use api::ReconcileReason;
use api::sample_db::SampleDBReason;
use jiff::Timestamp;
use runtime::Error;
use runtime::testing::FakeCluster;
use runtime::testing::fault_injection::ActAnswer;
use sample_db::SampleDB;
use sample_db::database::objects::{self, SecretRole};
use sample_db::database::{self, DbAct, FileSetting, LoginCheck, ServerProbe};
use sample_db::operand::names;

use crate::infrastructure::{Infrastructure, Secret};
use crate::kubelet::{Server, mounted};
use crate::manager::Manager;
use crate::pods::{KubeletPod, kubelet_pods};

/// The parameters that take effect at the next start.
const STARTING: [&str; 1] = ["max_connections"];

/// What a manager remembers of servers between two reconciles; it is lost with the manager.
#[derive(Clone, Debug, Default)]
pub struct ManagerMemory {
    /// Each server's answer, with what it depends on.
    pub answers: BTreeMap<String, (String, Timestamp, ServerProbe)>,
    /// Since when each server has not answered.
    pub silent: BTreeMap<String, Timestamp>,
    /// When the record of a copy was last read.
    pub copy_read_at: BTreeMap<String, Timestamp>,
    /// Whether the namespace was read.
    pub namespace: bool,
    refused: BTreeMap<String, BTreeMap<String, String>>,
}

fn name(db: &SampleDB, of: SecretRole) -> String {
    match of {
        SecretRole::App => names::app_secret(db),
        SecretRole::System => names::superuser_secret(db),
    }
}

/// The entries of a Secret with that password.
fn entries(db: &SampleDB, of: SecretRole, password: &str) -> BTreeMap<String, String> {
    objects::entries(db, of, password).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Infrastructure {
    /// Whether the server in a pod answers.
    pub fn serves(&self, pod: &str) -> bool {
        self.pod_states.get(pod).is_some_and(|state| state.server.is_some() && state.stopped.is_none())
    }

    /// The record of a copy in the server of that pod.
    pub fn copy_result(&self, pod: &str) -> Option<PgUpgradeResult> {
        let data = self.disks.data(&self.claim_of(pod)?)?;
        let (of, at) = data.copy.clone()?;
        Some(PgUpgradeResult {
            system_identifier: Some(data.id.clone()),
            from_system_identifier: Some(of),
            closed_at: Some(at),
            ..PgUpgradeResult::default()
        })
    }

    /// The answer of the server in a pod to a client with these passwords.
    pub fn answer(
        &self,
        cluster: &FakeCluster,
        db: &SampleDB,
        pod: &str,
        system: &str,
        app: Option<String>,
    ) -> ServerProbe {
        let Some(server) = self.pod_states.get(pod).and_then(|state| state.server.clone()).filter(|_| self.serves(pod))
        else {
            return ServerProbe::Failed("connection refused".to_owned());
        };
        let Some(data) = self.disks.data(&server.claim) else { return ServerProbe::Failed("no data".to_owned()) };
        if data.superuser != system {
            return ServerProbe::BadPassword;
        }
        let pods = kubelet_pods(cluster);
        let Some(pod) = pods.iter().find(|of| of.uid == pod) else { return ServerProbe::Failed("gone".to_owned()) };
        let line = |automatic| {
            move |(name, value): (&String, &String)| FileSetting {
                name: name.clone(),
                value: value.clone(),
                automatic,
                mounted: !automatic,
            }
        };
        let file = mounted(cluster, pod);
        let lines: Vec<FileSetting> =
            file.iter().map(line(false)).chain(data.settings.iter().map(line(true))).collect();
        let restart = self.waiting(cluster, pod, &server);
        let own = [("listen_addresses", "*"), ("password_encryption", "scram-sha-256"), ("wal_level", "replica")];
        let own = own.into_iter().map(|(name, value)| (name, Some(value))).collect();
        let desired = &database::effective_parameters(db);
        let known = desired.keys().cloned().collect();
        let mut parameters = database::parameter_diff(desired, &own, &lines, &known, restart);
        parameters.refused = self
            .manager_memory
            .refused
            .get(&*db.meta.key.name)
            .filter(|of| **of == db.spec.engine.parameters)
            .map(|_| "bad".to_owned());
        let login = match (data.allows_clients, app) {
            (false, _) => LoginCheck::Blocked,
            (true, None) => LoginCheck::Unknown,
            (true, app) if data.app == app => LoginCheck::Ok,
            (true, _) => LoginCheck::BadPassword,
        };
        let (system_identifier, version) = (data.id.clone(), server.release);
        let bytes = 1 << 20;
        let (room, attempt) = (None, None);
        ServerProbe::Answered(Box::new(database::ServerInfo {
            system_identifier,
            version,
            login,
            parameters,
            bytes,
            room,
            attempt,
        }))
    }

    /// The parameters of a server that wait for its next start.
    fn waiting(&self, cluster: &FakeCluster, pod: &KubeletPod, server: &Server) -> Vec<String> {
        let holds = self.effective(cluster, pod, &server.claim);
        let waits = |name: &&&str| holds.get(**name) != server.started.get(**name);
        STARTING.iter().filter(waits).map(|name| (*name).to_owned()).collect()
    }

    /// Whether the server in a pod has to restart, requested or not.
    pub fn waits_for_restart(&self, cluster: &FakeCluster, pod: &str) -> bool {
        let server = self.pod_states.get(pod).and_then(|state| state.server.as_ref());
        let pods = kubelet_pods(cluster);
        let pod = pods.iter().find(|of| of.uid == pod);
        server.zip(pod).is_some_and(|(server, pod)| !self.waiting(cluster, pod, server).is_empty())
    }

    /// Performs an act, unless the request is lost; the answer may be lost, too.
    pub fn act(
        &mut self,
        cluster: &FakeCluster,
        manager: &Manager,
        db: &Arc<SampleDB>,
        act: &DbAct,
        answer: ActAnswer,
    ) -> Result<(), Error> {
        let lost = || Err(Error::transient(SampleDBReason::ConnectionFailed, "there is no answer"));
        if answer == ActAnswer::RequestLost {
            return lost();
        }
        let done = self.perform(cluster, manager, db, act);
        if answer == ActAnswer::Lost { lost() } else { done }
    }

    fn perform(
        &mut self,
        cluster: &FakeCluster,
        manager: &Manager,
        db: &Arc<SampleDB>,
        act: &DbAct,
    ) -> Result<(), Error> {
        let uid = db.meta.uid.to_string();
        match act {
            DbAct::CreateSecret(of) => {
                manager.forget_secret(db, *of);
                if self.namespace_terminating {
                    return Err(Error::transient(ReconcileReason::Forbidden, "the namespace is being terminated"));
                }
                let regenerated_at =
                    sample_db::operand::database_state::may_have_data(db).then(|| self.now.to_string());
                let password = format!("password-{}", self.disks.next_number());
                let entries = entries(db, *of, &password);
                self.secrets.entry(name(db, *of)).or_insert(Secret {
                    owner: Some(uid),
                    password,
                    regenerated_at,
                    entries,
                });
                return Ok(());
            }
            DbAct::UpdateSecret(of) => {
                manager.forget_secret(db, *of);
                if let Some(secret) = self.secrets.get_mut(&name(db, *of)) {
                    secret.entries = entries(db, *of, &secret.password);
                }
                return Ok(());
            }
            DbAct::DeleteSecret(of) => {
                let name = name(db, *of);
                manager.forget_secret(db, *of);
                let lineage = |of: &String| *of == uid || db.status.storage.adopted_from.contains(of);
                if self.secrets.get(&name).is_some_and(|secret| secret.owner.as_ref().is_some_and(lineage)) {
                    self.secrets.remove(&name);
                }
                return Ok(());
            }
            DbAct::SetPassword | DbAct::SetParameters { .. } | DbAct::AllowConnections | DbAct::BlockConnections => {}
        }
        let away = || Error::transient(SampleDBReason::ServerAway, "the server is gone");
        let access = manager.access(cluster, self, db)?;
        let key = db.meta.key.name.to_string();
        self.manager_memory.answers.remove(&key);
        let claim = self.claim_of(&access.pod).filter(|_| self.serves(&access.pod)).ok_or_else(away)?;
        let data = self.disks.volume(&claim).data.as_mut().ok_or_else(away)?;
        if data.superuser != access.superuser_password.text() {
            return Err(Error::transient(
                SampleDBReason::AuthenticationFailed,
                "the server does not take the password",
            ));
        }
        match act {
            DbAct::AllowConnections => (data.allows_clients, data.blocked_since) = (true, None),
            DbAct::BlockConnections => (data.allows_clients, data.blocked_since) = (false, None),
            DbAct::SetPassword => data.app = Some(access.app_password.ok_or_else(away)?.text().to_owned()),
            DbAct::SetParameters { set, reset } => {
                reset.iter().for_each(|name| drop(data.settings.remove(name)));
                for (name, value) in set {
                    if value == "bad" {
                        self.manager_memory.refused.insert(key, db.spec.engine.parameters.clone());
                        return Ok(());
                    }
                    data.settings.insert(name.clone(), value.clone());
                }
            }
            DbAct::CreateSecret(_) | DbAct::DeleteSecret(_) | DbAct::UpdateSecret(_) => {}
        }
        Ok(())
    }
}
