//! An upgrade, played reconcile by reconcile.

use api::sample_db::UpgradeStep;
use runtime::projections::{Job, StatefulSet};

use super::super::*;
use crate::database::login::LoginCheck;
use crate::database::tests::server::{live, pod_of, says, stand, standing};
use crate::operand::names;

/// The status of a database of that release.
pub fn of(release: &str) -> Value {
    let mut status = initialised();
    status["engine"] = json!({ "version": release, "running": release,
        "image": format!("docker.io/library/postgres:{release}") });
    status["backup"] = json!({ "lastScheduled": "2027-01-15T07:59:00Z" });
    status
}

/// Plays an upgrade: each reconcile gets what the one before wrote.
pub struct Play {
    pub seen: Observed,
    pub spec: Value,
    pub meta: Value,
}

impl Play {
    pub fn new(spec: Value, release: &str) -> Self {
        let meta = json!({ "finalizers": [FINAL_SNAPSHOT] });
        let mut seen = standing(&spec, &of(release));
        seen.probe = says(|answer| answer.version = release.to_owned());
        Self { seen, spec, meta }
    }

    /// A reconcile; its effects as text.
    pub fn pass(&mut self) -> Vec<String> {
        let decided = plan(&self.seen, now());
        let effects = done(&decided);
        if let Some(status) = decided.status {
            let again = with(&self.meta, &self.spec, &serde_json::to_value(&status).unwrap());
            self.seen.db = again.db;
            self.observe();
        }
        effects
    }

    /// The serving server is the one that status names.
    fn observe(&mut self) {
        let serves = names::server(&self.seen.db).to_owned();
        if self.seen.target_server.owned().is_some_and(|set| *set.meta.key.name == *serves) {
            std::mem::swap(&mut self.seen.server, &mut self.seen.target_server);
        }
    }

    /// A server of the new version exists next to the old one.
    pub fn follow(&mut self, ready: bool) {
        let created = plan(&self.seen, now());
        self.seen.target_server = live::<StatefulSet>(&created, "shop-17");
        self.seen.pods.push(pod_of(&created, "shop-17", ready));
        let sets = [&self.seen.server, &self.seen.target_server];
        self.seen.servers = sets.into_iter().filter_map(|set| Some(set.owned()?.view.clone())).collect();
    }

    /// Reconciles until something is done, or nothing is left to do.
    pub fn next(&mut self) -> Vec<String> {
        (0..5).map(|_| self.pass()).find(|effects| !effects.is_empty()).unwrap_or_default()
    }

    pub fn step(&self) -> Option<UpgradeStep> {
        self.seen.db.status.upgrade.step
    }

    /// A Job that has ended, with its pod's termination message.
    pub fn ends(&mut self, name: &str, code: i32, message: &Value) {
        let end = if code == 0 { "Complete" } else { "Failed" };
        let job = json!({ "metadata": { "namespace": "n", "name": name, "uid": name }, "status": { "conditions": [
            { "type": end, "status": "True", "reason": "Ended", "message": "ended" }] } });
        self.seen.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
        let pod = json!({ "metadata": { "namespace": "n", "name": format!("{name}-x"), "uid": name, "labels": {
            "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": name } },
            "status": { "containerStatuses": [{ "name": "work", "image": "i", "restartCount": 0, "state": { "terminated": {
                "exitCode": code, "message": message.to_string() } } }] } });
        self.seen.pods.retain(|pod| names::is_server_pod(&self.seen.db, &pod.meta.key.name));
        self.seen.pods.push(Arc::new(Pod::decode(&pod.to_string()).unwrap()));
    }

    /// A Job that runs, with the state of its pod.
    fn runs(&mut self, name: &str, status: &Value) {
        let job = json!({ "metadata": { "namespace": "n", "name": name, "uid": name } });
        self.seen.jobs = vec![Arc::new(Job::decode(&job.to_string()).unwrap())];
        let pod = json!({ "metadata": { "namespace": "n", "name": format!("{name}-x"), "uid": name, "labels": {
            "multi-operator.example.com/whole": "true", "batch.kubernetes.io/job-name": name } }, "status": status });
        self.seen.pods.retain(|pod| names::is_server_pod(&self.seen.db, &pod.meta.key.name));
        self.seen.pods.push(Arc::new(Pod::decode(&pod.to_string()).unwrap()));
    }

    /// A Job whose pod is running.
    pub fn works(&mut self, name: &str) {
        self.works_since(name, "2027-01-15T07:59:00Z");
    }

    /// The same, since that time.
    pub fn works_since(&mut self, name: &str, at: &str) {
        let work = json!({ "name": "work", "image": "i", "restartCount": 0, "state": { "running": {
            "startedAt": at } } });
        self.runs(name, &json!({ "containerStatuses": [work] }));
    }

    /// A Job whose pod no node accepts.
    pub fn pending(&mut self, name: &str) {
        self.runs(
            name,
            &json!({ "phase": "Pending", "conditions": [{ "type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/3 nodes are available" }] }),
        );
    }

    /// The server's pod is replaced by one as the StatefulSet has it now.
    pub fn restarted(&mut self, release: &str, login: LoginCheck, identifier: &str) {
        let (jobs, pods) = (std::mem::take(&mut self.seen.jobs), self.seen.pods.split_off(1));
        stand(&mut self.seen);
        self.seen.jobs = jobs;
        self.seen.pods.extend(pods);
        self.seen.probe = says(|answer| {
            (answer.version, answer.login) = (release.to_owned(), login);
            answer.system_identifier = identifier.to_owned();
        });
    }

    pub fn snapshot(&mut self, phase: &str) {
        let status = json!({ "phase": phase, "sampleDBUID": "u-1", "error": "no room" });
        let name = crate::operand::names::pre_upgrade_snapshot(&self.seen.db);
        self.seen.snapshots = vec![snapshot(&name, "PreUpgrade", &status)];
    }

    pub fn claim(&mut self, name: &str) {
        let labels = json!({ "multi-operator.example.com/owner-uid": "u-1" });
        let claim = json!({ "metadata": { "namespace": "n", "name": name, "uid": name, "labels": labels } });
        self.seen.claims.push(Arc::new(Pvc::decode(&claim.to_string()).unwrap()));
    }

    /// Up to the copy of 15.20 into 17.12.
    pub fn to_the_copy() -> Self {
        let mut play = Self::new(json!({ "engine": { "version": "17" } }), "15.20");
        assert_eq!(play.next(), ["create Job shop-check"]);
        play.ends("shop-check", 0, &json!({ "version": "17.12" }));
        let name = crate::operand::names::pre_upgrade_snapshot(&play.seen.db);
        assert_eq!(play.next(), [format!("create SampleDBSnapshot {name}")]);
        play.snapshot("Ready");
        assert_eq!(play.next(), ["apply PersistentVolumeClaim data-shop-17"]);
        play.claim("data-shop-17");
        assert_eq!(play.next(), Vec::<String>::new(), "it waits for what is applied independently");
        assert_eq!(play.step(), Some(UpgradeStep::Prepare));
        assert_eq!(play.condition("Ready").0, ConditionStatus::True, "writers are in");
        play.follow(true);
        assert_eq!(play.next(), ["create Job shop-upgrade-17-12"]);
        assert_eq!(play.step(), Some(UpgradeStep::Copy));
        play
    }

    /// Up to the cutover.
    pub fn to_the_switch() -> Self {
        let mut play = Self::to_the_copy();
        let closed = NOW * 1000 - 6500;
        play.ends("shop-upgrade-17-12", 0, &json!({ "systemIdentifier": "17", "closedAt": closed }));
        play.seen.probe = says(|answer| answer.login = LoginCheck::Blocked);
        assert_eq!(play.next(), ["apply Service shop-rw", "apply StatefulSet shop-17"]);
        assert_eq!(play.step(), Some(UpgradeStep::Switch));
        play
    }

    pub fn condition(&self, type_: &str) -> (ConditionStatus, String) {
        reason(&self.seen.db.status, type_)
    }
}
