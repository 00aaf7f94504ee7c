//! The agent's commands, one stage a tick: a command that is killed stops between two stages.

use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{ConfigMap, Service};
use runtime::testing::FakeCluster;
use serde_json::json;

use crate::data::{Data, SnapshotFiles};
use crate::infrastructure::{Infrastructure, claim_uid};
use crate::kubelet::{End, PodState, RETRY_TICKS, failure};
use crate::pods::KubeletPod;

impl Infrastructure {
    /// `pg-prepare`.
    pub fn prepare(&mut self, pod: &KubeletPod, state: &mut PodState, claim: &str) -> Option<End> {
        if !self.disks.lock(claim, &pod.uid) {
            return if state.age > RETRY_TICKS { failure("DataInUse", "another server is at the data") } else { None };
        }
        let major: u32 = pod.flag("--major").and_then(|major| major.parse().ok()).unwrap_or(0);
        let known = pod.flag("--system-identifier");
        let owner = pod.flag("--owner");
        let data = self.disks.data(claim).cloned();
        let data = match data {
            None if !pod.has("--initialise") => return failure("DataMissing", "the data directory is empty"),
            None => match self.new_data(pod, state, major, owner) {
                Ok(data) => data,
                Err(end) => return end,
            },
            Some(data) if data.major != major => return failure("WrongMajor", "the data is of another version"),
            Some(data) => match (&known, &owner) {
                (Some(known), _) if *known != data.id => return failure("ForeignData", "the data is another's"),
                (None, Some(_)) if data.owner != owner => {
                    return failure("ForeignData", "the data was made for another");
                }
                _ => data,
            },
        };
        let mut data = Data { copy: None, ..data };
        data.allows_clients &= pod.flag("--access").as_deref() != Some("closed");
        data.settings.clear();
        if pod.has("--reset-password") {
            data.superuser.clone_from(&state.passwords.0);
        }
        let result = json!({ "systemIdentifier": data.id, "version": pod.release() });
        self.disks.volume(claim).data = Some(data);
        self.disks.release(&pod.uid);
        Some((0, result))
    }

    /// Creates data by initdb, or from a physical snapshot.
    fn new_data(
        &mut self,
        pod: &KubeletPod,
        state: &PodState,
        major: u32,
        owner: Option<String>,
    ) -> Result<Data, Option<End>> {
        let name = pod.key.name.trim_end_matches("-0").to_owned();
        let Some(from) = pod.flag("--from") else {
            // Except for the server that an upgrade copies to, which starts with clients blocked.
            let copy = pod.flag("--access").as_deref() == Some("closed");
            let written = self.written.iter().any(|of| name == *of || name.starts_with(&format!("{of}-")));
            if written && !copy {
                self.violation(format!("initdb for {name}, which has rows"));
            }
            return Ok(self.disks.initdb(major, owner, &state.passwords.0));
        };
        let file = self.file(pod, &from).filter(|file| file.physical);
        let Some(file) = file else { return Err(failure("SnapshotMissing", "there is no such physical snapshot")) };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return Err(failure("ChecksumMismatch", "it is not what was written"));
        }
        let superuser = state.passwords.0.clone();
        Ok(Data { owner, superuser, allows_clients: true, blocked_since: None, copy: None, ..file.data })
    }

    /// The files of a snapshot, by the value of a flag.
    pub fn file(&self, pod: &KubeletPod, path: &str) -> Option<SnapshotFiles> {
        self.disks.volumes.get(&self.snapshots.get(&pod.uid).cloned()?)?.files.get(path.rsplit('/').next()?).cloned()
    }

    /// Records which volume a pod has its snapshots on.
    pub fn find_snapshots(&mut self, cluster: &FakeCluster, pod: &KubeletPod) {
        if let Some(claim) = pod.claim("snapshots").and_then(|key| claim_uid(cluster, &key)) {
            self.snapshots.insert(pod.uid.clone(), claim);
        }
    }

    /// Runs a stage of a Job's pod.
    pub fn work(&mut self, cluster: &FakeCluster, pod: &KubeletPod, state: &mut PodState) -> Option<End> {
        self.find_snapshots(cluster, pod);
        let command = pod.command();
        let fails_at = self.faults.failing.get(command.as_str()).copied();
        if fails_at.is_some_and(|stage| state.age >= stage && command != "pg-upgrade") {
            return failure("ToolFailed", "it was configured to");
        }
        match command.as_str() {
            "pg-init" => self.init(cluster, pod, state),
            "pg-dump" | "pg-basebackup" => self.dump(cluster, pod, state),
            "pg-verify" => self.verify(pod, state),
            "pg-restore" => self.restore(cluster, pod, state),
            "pg-prune" => self.prune(pod, state),
            "pg-upload" => self.upload(pod, state),
            "pg-download" => self.download(pod, state),
            "pg-version" => Some((0, self.version(pod))),
            "pg-survey" => match self.connect(cluster, pod, state) {
                Ok(_) => Some((0, self.version(pod))),
                Err(end) => end,
            },
            "pg-upgrade" => self.upgrade(cluster, pod, state, fails_at),
            "pg-finish" => match self.connect(cluster, pod, state) {
                Ok(_) => Some((0, json!({ "extensions": 1 }))),
                Err(end) => end,
            },
            command => {
                self.violation(format!("a Job runs {command:?}"));
                failure("BadInput", "no such command")
            }
        }
    }

    /// The result of `pg-version`.
    fn version(&self, pod: &KubeletPod) -> serde_json::Value {
        json!({ "version": self.faults.lies.clone().unwrap_or_else(|| pod.release()) })
    }

    /// The UID of the PVC of the server that a pod connects to; how the command ends if it cannot.
    pub fn connect(&self, cluster: &FakeCluster, pod: &KubeletPod, state: &PodState) -> Result<String, Option<End>> {
        let wait = || match state.age > RETRY_TICKS {
            true => failure("ConnectionFailed", "the server does not answer"),
            false => None,
        };
        let host = pod
            .config_maps()
            .iter()
            .find_map(|key| Some(cluster.get(ConfigMap::KIND, key)?["data"]["PGHOST"].as_str()?.to_owned()));
        let service =
            host.and_then(|host| host.split('.').next().map(|name| pod.key.sibling(name))).ok_or_else(wait)?;
        let db: Key = pod.key.sibling(service.name.trim_end_matches("-rw"));
        cluster.get(Service::KIND, &service).ok_or_else(wait)?;
        let server = self.server(cluster, &db).filter(|uid| self.pod_states.get(uid).is_some_and(|state| state.ready));
        let claim = server.and_then(|uid| self.claim_of(&uid)).ok_or_else(wait)?;
        let data = self.disks.data(&claim).ok_or_else(wait)?;
        if data.superuser != state.passwords.0 {
            return Err(failure("AuthenticationFailed", "the password is wrong"));
        }
        Ok(claim)
    }

    fn init(&mut self, cluster: &FakeCluster, pod: &KubeletPod, state: &mut PodState) -> Option<End> {
        let claim = match self.connect(cluster, pod, state) {
            Ok(claim) => claim,
            Err(end) => return end,
        };
        let right = self.sql.1 || !pod.has("--sql");
        let data = self.disks.volume(&claim).data.as_mut()?;
        match state.age.min(RETRY_TICKS) {
            1 => data.app = Some(state.passwords.1.clone()),
            2 if data.app.is_none() => data.app = Some(state.passwords.1.clone()),
            2 if data.init_sql_runs == 0 && !right => return failure("SqlFailed", "syntax error"),
            2 if data.init_sql_runs == 0 => data.init_sql_runs = 1,
            2 => {}
            _ if data.init_sql_runs == 0 => state.age = 0,
            _ => return Some((0, json!({ "ran": true }))),
        }
        None
    }

    fn dump(&mut self, cluster: &FakeCluster, pod: &KubeletPod, state: &mut PodState) -> Option<End> {
        let name = pod.flag("--to")?.rsplit('/').next()?.to_owned();
        let volume = self.snapshots.get(&pod.uid).cloned()?;
        if let Some(file) = self.disks.volume(&volume).files.get(&name).filter(|file| file.intact) {
            return Some((0, result_of(file)));
        }
        let claim = match pod.has("--offline") {
            false => match self.connect(cluster, pod, state) {
                Ok(claim) => claim,
                Err(end) => return end,
            },
            true => {
                let claim = pod.claim("data").and_then(|key| claim_uid(cluster, &key))?;
                if !self.disks.lock(&claim, &pod.uid) {
                    return if state.age > RETRY_TICKS {
                        failure("DataInUse", "a server is at the data")
                    } else {
                        None
                    };
                }
                let known = pod.flag("--system-identifier");
                match self.disks.data(&claim) {
                    None => return failure("DataMissing", "there is no data"),
                    Some(data) if known.is_some_and(|known| known != data.id) => {
                        return failure("ForeignData", "the data is another's");
                    }
                    Some(data) if !pod.release().starts_with(&format!("{}.", data.major)) => {
                        return failure("WrongMajor", "the data is of another version");
                    }
                    Some(_) => claim,
                }
            }
        };
        if state.scratch.is_none() {
            state.scratch = self.disks.data(&claim).cloned();
            return None;
        }
        let sha = format!("sum-{name}-{}", self.disks.next_number());
        let mut data = state.scratch.clone()?;
        let physical = pod.command() == "pg-basebackup";
        if !physical {
            (data.restored, data.copy, data.blocked_since) = (None, None, None);
        }
        let not_covered =
            if self.faults.slot && !physical { vec!["\"feed\" is a replication slot"] } else { Vec::new() };
        let file =
            SnapshotFiles { sha, intact: !self.faults.corrupts, release: pod.release(), physical, not_covered, data };
        let result = result_of(&file);
        self.disks.volume(&volume).files.insert(name, file);
        Some((0, result))
    }

    fn verify(&mut self, pod: &KubeletPod, state: &PodState) -> Option<End> {
        let path = pod.flag("--snapshot")?;
        let Some(file) = self.file(pod, &path) else { return failure("SnapshotMissing", "there is none") };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return failure("ChecksumMismatch", "it is not what was written");
        }
        (state.age > 1)
            .then(|| (0, json!({ "tables": 1, "rows": file.data.rows.len(), "systemIdentifier": file.data.id })))
    }

    fn prune(&mut self, pod: &KubeletPod, state: &PodState) -> Option<End> {
        let name = pod.flag("--name")?;
        if let Some(volume) = self.snapshots.get(&pod.uid).cloned() {
            self.disks.volume(&volume).files.remove(&name);
        }
        self.remove_copy(pod, state, &name)
    }

    fn restore(&mut self, cluster: &FakeCluster, pod: &KubeletPod, state: &PodState) -> Option<End> {
        let path = pod.flag("--snapshot")?;
        let Some(file) = self.file(pod, &path) else { return failure("SnapshotMissing", "there is none") };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return failure("ChecksumMismatch", "it is not what was written");
        }
        let claim = match self.connect(cluster, pod, state) {
            Ok(claim) => claim,
            Err(end) => return end,
        };
        let data = self.disks.volume(&claim).data.as_mut()?;
        match &data.restored {
            Some((sum, true)) if *sum == file.sha => return Some((0, json!({ "reused": true }))),
            Some((sum, false)) if *sum == file.sha => {}
            None if data.rows.is_empty() && data.init_sql_runs == 0 => data.restored = Some((file.sha.clone(), false)),
            _ => return failure("TargetNotEmpty", "there is something already"),
        }
        if state.age > 2 {
            (data.rows, data.init_sql_runs) = (file.data.rows.clone(), file.data.init_sql_runs);
            data.app = data.app.take().or(file.data.app);
            data.restored = Some((file.sha, true));
            return Some((0, json!({ "rows": data.rows.len() })));
        }
        None
    }
}

pub fn result_of(file: &SnapshotFiles) -> serde_json::Value {
    json!({ "bytes": 1024, "sha256": file.sha, "engineVersion": file.release, "tables": 1, "rows": file.data.rows.len(),
        "databaseNames": ["app"], "notCovered": file.not_covered, "systemIdentifier": file.data.id })
}
