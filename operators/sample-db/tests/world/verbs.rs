//! The agent's verbs, a stage a tick: whatever is killed stops between two of them.

use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{ConfigMap, Service};
use runtime::testing::World;
use serde_json::json;

use crate::data::{Data, File};
use crate::kubelet::{End, Life, PATIENCE, fails};
use crate::pods::PodSeen;
use crate::site::{Site, claim_uid};

impl Site {
    /// `pg-prepare`.
    pub fn prepare(&mut self, pod: &PodSeen, life: &mut Life, claim: &str) -> Option<End> {
        if !self.disks.lock(claim, &pod.uid) {
            return if life.age > PATIENCE { fails("DataInUse", "another server is at the data") } else { None };
        }
        let major: u32 = pod.flag("--major").and_then(|major| major.parse().ok()).unwrap_or(0);
        let known = pod.flag("--system-identifier");
        let owner = pod.flag("--owner");
        let data = self.disks.data(claim).cloned();
        let data = match data {
            None if !pod.has("--initialise") => return fails("DataMissing", "the data folder is empty"),
            None => match self.new_data(pod, life, major, owner) {
                Ok(data) => data,
                Err(end) => return end,
            },
            Some(data) if data.major != major => return fails("WrongMajor", "the data is of another version"),
            Some(data) => match (&known, &owner) {
                (Some(known), _) if *known != data.id => return fails("ForeignData", "the data is another's"),
                (None, Some(_)) if data.owner != owner => return fails("ForeignData", "the data was made for another"),
                _ => data,
            },
        };
        let mut data = Data { copy: None, ..data };
        data.open &= pod.flag("--access").as_deref() != Some("closed");
        data.settings.clear();
        if pod.has("--reset-password") {
            data.superuser.clone_from(&life.passwords.0);
        }
        let said = json!({ "systemIdentifier": data.id, "version": pod.release() });
        self.disks.volume(claim).data = Some(data);
        self.disks.release(&pod.uid);
        Some((0, said))
    }

    /// By initdb, or of a physical snapshot.
    fn new_data(&mut self, pod: &PodSeen, life: &Life, major: u32, owner: Option<String>) -> Result<Data, Option<End>> {
        let name = pod.key.name.trim_end_matches("-0").to_owned();
        let Some(from) = pod.flag("--from") else {
            // But for the server that an upgrade copies to, which begins closed.
            let copy = pod.flag("--access").as_deref() == Some("closed");
            let written = self.written.iter().any(|of| name == *of || name.starts_with(&format!("{of}-")));
            if written && !copy {
                self.violation(format!("initdb for {name}, which has rows"));
            }
            return Ok(self.disks.initdb(major, owner, &life.passwords.0));
        };
        let file = self.file(pod, &from).filter(|file| file.physical);
        let Some(file) = file else { return Err(fails("SnapshotMissing", "there is no such physical snapshot")) };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return Err(fails("ChecksumMismatch", "it is not what was written"));
        }
        let superuser = life.passwords.0.clone();
        Ok(Data { owner, superuser, open: true, shut_since: None, copy: None, ..file.data })
    }

    /// A snapshot's files, by what follows a flag.
    fn file(&self, pod: &PodSeen, path: &str) -> Option<File> {
        self.disks.volumes.get(&self.snapshots.get(&pod.uid).cloned()?)?.files.get(path.rsplit('/').next()?).cloned()
    }

    /// Notes which volume a pod has its snapshots on.
    pub fn find_snapshots(&mut self, world: &World, pod: &PodSeen) {
        if let Some(claim) = pod.claim("snapshots").and_then(|key| claim_uid(world, &key)) {
            self.snapshots.insert(pod.uid.clone(), claim);
        }
    }

    /// A stage of what a Job's pod does.
    pub fn work(&mut self, world: &World, pod: &PodSeen, life: &mut Life) -> Option<End> {
        self.find_snapshots(world, pod);
        let verb = pod.verb();
        let fails_at = self.faults.failing.get(verb.as_str()).copied();
        if fails_at.is_some_and(|stage| life.age >= stage && verb != "pg-upgrade") {
            return fails("ToolFailed", "it was told to");
        }
        match verb.as_str() {
            "pg-init" => self.init(world, pod, life),
            "pg-dump" | "pg-basebackup" => self.dump(world, pod, life),
            "pg-verify" => self.verify(pod, life),
            "pg-restore" => self.restore(world, pod, life),
            "pg-prune" => self.prune(pod),
            "pg-version" => Some((0, self.version(pod))),
            "pg-survey" => match self.connect(world, pod, life) {
                Ok(_) => Some((0, self.version(pod))),
                Err(end) => end,
            },
            "pg-upgrade" => self.upgrade(world, pod, life, fails_at),
            "pg-finish" => match self.connect(world, pod, life) {
                Ok(_) => Some((0, json!({ "extensions": 1 }))),
                Err(end) => end,
            },
            verb => {
                self.violation(format!("a Job runs {verb:?}"));
                fails("BadInput", "no such verb")
            }
        }
    }

    /// What an image says of itself.
    fn version(&self, pod: &PodSeen) -> serde_json::Value {
        json!({ "version": self.faults.lies.clone().unwrap_or_else(|| pod.release()) })
    }

    /// The claim of the server that a pod is told to connect to; what it ends with if it cannot.
    fn connect(&self, world: &World, pod: &PodSeen, life: &Life) -> Result<String, Option<End>> {
        let wait = || match life.age > PATIENCE {
            true => fails("ConnectionFailed", "the server does not answer"),
            false => None,
        };
        let host = pod
            .config_maps()
            .iter()
            .find_map(|key| Some(world.get(ConfigMap::KIND, key)?["data"]["PGHOST"].as_str()?.to_owned()));
        let service =
            host.and_then(|host| host.split('.').next().map(|name| pod.key.sibling(name))).ok_or_else(wait)?;
        let db: Key = pod.key.sibling(service.name.trim_end_matches("-rw"));
        world.get(Service::KIND, &service).ok_or_else(wait)?;
        let server = self.server(world, &db).filter(|uid| self.lives.get(uid).is_some_and(|life| life.ready));
        let claim = server.and_then(|uid| self.claim_of(&uid)).ok_or_else(wait)?;
        let data = self.disks.data(&claim).ok_or_else(wait)?;
        if data.superuser != life.passwords.0 {
            return Err(fails("AuthenticationFailed", "the password is wrong"));
        }
        Ok(claim)
    }

    fn init(&mut self, world: &World, pod: &PodSeen, life: &mut Life) -> Option<End> {
        let claim = match self.connect(world, pod, life) {
            Ok(claim) => claim,
            Err(end) => return end,
        };
        let right = self.sql.1 || !pod.has("--sql");
        let data = self.disks.volume(&claim).data.as_mut()?;
        match life.age.min(PATIENCE) {
            1 => data.app = Some(life.passwords.1.clone()),
            2 if data.app.is_none() => data.app = Some(life.passwords.1.clone()),
            2 if data.ran == 0 && !right => return fails("SqlFailed", "syntax error"),
            2 if data.ran == 0 => data.ran = 1,
            2 => {}
            _ if data.ran == 0 => life.age = 0,
            _ => return Some((0, json!({ "ran": true }))),
        }
        None
    }

    fn dump(&mut self, world: &World, pod: &PodSeen, life: &mut Life) -> Option<End> {
        let name = pod.flag("--to")?.rsplit('/').next()?.to_owned();
        let volume = self.snapshots.get(&pod.uid).cloned()?;
        if let Some(file) = self.disks.volume(&volume).files.get(&name).filter(|file| file.intact) {
            return Some((0, said_of(file)));
        }
        let claim = match pod.has("--offline") {
            false => match self.connect(world, pod, life) {
                Ok(claim) => claim,
                Err(end) => return end,
            },
            true => {
                let claim = pod.claim("data").and_then(|key| claim_uid(world, &key))?;
                if !self.disks.lock(&claim, &pod.uid) {
                    return if life.age > PATIENCE { fails("DataInUse", "a server is at the data") } else { None };
                }
                let known = pod.flag("--system-identifier");
                match self.disks.data(&claim) {
                    None => return fails("DataMissing", "there is no data"),
                    Some(data) if known.is_some_and(|known| known != data.id) => {
                        return fails("ForeignData", "the data is another's");
                    }
                    Some(data) if !pod.release().starts_with(&format!("{}.", data.major)) => {
                        return fails("WrongMajor", "the data is of another version");
                    }
                    Some(_) => claim,
                }
            }
        };
        if life.scratch.is_none() {
            life.scratch = self.disks.data(&claim).cloned();
            return None;
        }
        let sha = format!("sum-{name}-{}", self.disks.fresh());
        let mut data = life.scratch.clone()?;
        let physical = pod.verb() == "pg-basebackup";
        if !physical {
            (data.restored, data.copy, data.shut_since) = (None, None, None);
        }
        let lacks = if self.faults.slot && !physical { vec!["\"feed\" is a replication slot"] } else { Vec::new() };
        let file = File { sha, intact: !self.faults.corrupts, release: pod.release(), physical, lacks, data };
        let said = said_of(&file);
        self.disks.volume(&volume).files.insert(name, file);
        Some((0, said))
    }

    fn verify(&mut self, pod: &PodSeen, life: &Life) -> Option<End> {
        let path = pod.flag("--snapshot")?;
        let Some(file) = self.file(pod, &path) else { return fails("SnapshotMissing", "there is none") };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return fails("ChecksumMismatch", "it is not what was written");
        }
        (life.age > 1)
            .then(|| (0, json!({ "tables": 1, "rows": file.data.rows.len(), "systemIdentifier": file.data.id })))
    }

    fn prune(&mut self, pod: &PodSeen) -> Option<End> {
        let (name, volume) = (pod.flag("--name")?, self.snapshots.get(&pod.uid).cloned()?);
        self.disks.volume(&volume).files.remove(&name);
        Some((0, json!({ "removed": 1 })))
    }

    fn restore(&mut self, world: &World, pod: &PodSeen, life: &Life) -> Option<End> {
        let path = pod.flag("--snapshot")?;
        let Some(file) = self.file(pod, &path) else { return fails("SnapshotMissing", "there is none") };
        if !file.intact || pod.flag("--sha256").is_some_and(|sum| sum != file.sha) {
            return fails("ChecksumMismatch", "it is not what was written");
        }
        let claim = match self.connect(world, pod, life) {
            Ok(claim) => claim,
            Err(end) => return end,
        };
        let data = self.disks.volume(&claim).data.as_mut()?;
        match &data.restored {
            Some((sum, true)) if *sum == file.sha => return Some((0, json!({ "reused": true }))),
            Some((sum, false)) if *sum == file.sha => {}
            None if data.rows.is_empty() && data.ran == 0 => data.restored = Some((file.sha.clone(), false)),
            _ => return fails("TargetNotEmpty", "there is something already"),
        }
        if life.age > 2 {
            (data.rows, data.ran) = (file.data.rows.clone(), file.data.ran);
            data.app = data.app.take().or(file.data.app);
            data.restored = Some((file.sha, true));
            return Some((0, json!({ "rows": data.rows.len() })));
        }
        None
    }

    /// Stage 1 looks, stage 2 shuts writers out and reads, stage 3 writes into the server that stands beside.
    fn upgrade(&mut self, world: &World, pod: &PodSeen, life: &mut Life, fails_at: Option<u32>) -> Option<End> {
        let old = match self.connect(world, pod, life) {
            Ok(claim) => claim,
            Err(_) if life.scratch.is_some() => return fails("ConnectionFailed", "the old server is gone"),
            Err(end) => return end,
        };
        let new = pod.flag("--to").and_then(|address| self.claim_of(&address));
        let Some((new, there)) = new.and_then(|new| Some((new.clone(), self.disks.data(&new)?.clone()))) else {
            return fails("ConnectionFailed", "the new server is gone");
        };
        let from = self.disks.data(&old)?.clone();
        let major: u32 = pod.flag("--major").and_then(|major| major.parse().ok())?;
        let other = pod.flag("--from-system-identifier").is_some_and(|id| id != from.id);
        if other || from.major >= major || there.major != major {
            return fails("ForeignData", "the server is another one");
        }
        let stage = life.scratch.as_ref().map_or(1, |_| 3);
        if fails_at.is_some_and(|at| stage >= at) {
            return fails("ToolFailed", "it was told to");
        }
        let said = |at: i64| json!({ "systemIdentifier": there.id, "version": pod.release(), "closedAt": at });
        if let Some(copy) = life.scratch.clone() {
            let at = copy.copy.as_ref().map_or(0, |of| of.1);
            let Data { id, major, owner, open, superuser, settings, .. } = there.clone();
            let data = Data { id, major, owner, open, superuser, settings, shut_since: None, ..copy };
            self.disks.volume(&new).data = Some(data);
            return Some((0, said(at)));
        }
        match &there.copy {
            Some((of, at)) if *of == from.id && !from.open && from.shut_since == Some(*at) => {
                return Some((0, said(*at)));
            }
            None if there.app.is_none() && there.rows.is_empty() => {}
            _ => return fails("ForeignData", "the new server is not empty"),
        }
        if life.age < 2 {
            return None;
        }
        let at = self.now.as_millisecond();
        let data = self.disks.volume(&old).data.as_mut()?;
        (data.open, data.shut_since) = (false, Some(at));
        life.scratch = Some(Data { copy: Some((from.id.clone(), at)), ..data.clone() });
        // Roles come first: from here on, applications would get in if they were let.
        self.disks.volume(&new).data.as_mut()?.app.clone_from(&from.app);
        None
    }
}

fn said_of(file: &File) -> serde_json::Value {
    json!({ "bytes": 1024, "sha256": file.sha, "engineVersion": file.release, "tables": 1, "rows": file.data.rows.len(),
        "databaseNames": ["app"], "notCovered": file.lacks, "systemIdentifier": file.data.id })
}
