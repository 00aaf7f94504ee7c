//! When a simulation is settled.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{Job, Pod, Pvc};
use runtime::testing::fault_injection::ReconcileFaults;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::collector::KINDS;
use crate::infrastructure::{Faults, is_terminating, path_of, text};
use crate::simulation::Simulation;

/// A simulation without faults settles within so many rounds.
const ROUNDS: usize = 300;
/// After so many rounds time advances faster, since something takes minutes.
const ROUNDS_BEFORE_TIME_PASSES: usize = 200;

/// Longer than the check that nothing changes any more.
const QUIET_TIME: SignedDuration = SignedDuration::from_mins(1);

/// Reasons for which a database may be Stalled although it serves.
const STALLED: [&str; 6] =
    ["UpgradeFailed", "DowngradeRefused", "VersionUnknown", "UpgradePathUnknown", "ParameterRefused", "Running"];

impl Simulation {
    /// Ends all faults that can end, and waits until everything is settled and stays so.
    ///
    /// # Errors
    /// Why it is not settled, or which invariant was violated.
    pub fn settle(&mut self) -> Result<(), String> {
        self.log("settling");
        self.infra.faults = Faults::default();
        self.infra.sql.1 = true;
        for key in self.databases() {
            self.cluster.edit(SampleDB::KIND, &key, |object| object["spec"]["paused"] = json!(false));
        }
        self.settle_with(Self::act_as_administrator)
    }

    /// Waits until everything is settled with the present faults, and stays so.
    ///
    /// # Errors
    /// As those of [`Simulation::settle`].
    pub fn come_to_rest(&mut self) -> Result<(), String> {
        self.settle_with(|_| {})
    }

    fn settle_with(&mut self, administrator: fn(&mut Self)) -> Result<(), String> {
        let (mut settled, mut settled_rounds, mut writes) = (Ok(()), 0, 0);
        for round in 0..ROUNDS {
            // Not while something is written: all rounds of a backup would take as long as the interval of a schedule.
            if round > ROUNDS_BEFORE_TIME_PASSES && self.cluster.writes == writes {
                self.infra.now += SignedDuration::from_secs(30);
            }
            writes = self.cluster.writes;
            self.round();
            self.check_invariants()?;
            administrator(self);
            settled = self.at_rest();
            settled_rounds = if settled.is_ok() { settled_rounds + 1 } else { 0 };
            if settled_rounds > 1 {
                break;
            }
        }
        settled?;
        self.check_quiet()
    }

    /// Checks that no invariant was violated.
    ///
    /// # Errors
    /// The violations.
    pub fn check_invariants(&self) -> Result<(), String> {
        if self.infra.violations.is_empty() { Ok(()) } else { Err(self.infra.violations.join("; ")) }
    }

    /// All databases.
    pub fn databases(&self) -> Vec<Key> {
        self.cluster.all(SampleDB::KIND).map(|(key, _)| key.clone()).collect()
    }

    /// Checks that everything is in the desired state.
    ///
    /// # Errors
    /// What is not.
    pub fn at_rest(&self) -> Result<(), String> {
        if self.infra.namespace_terminating {
            let left =
                KINDS.iter().flat_map(|kind| self.cluster.all(*kind).map(|(key, _)| format!("{} {key}", kind.kind)));
            let left: Vec<String> = left.collect();
            return check(left.is_empty(), || format!("the namespace still has {left:?}"));
        }
        self.databases().iter().try_for_each(|key| self.check_database(key))?;
        self.check_snapshots()?;
        self.check_leftovers()
    }

    fn check_database(&self, key: &Key) -> Result<(), String> {
        let db = self.cluster.get(SampleDB::KIND, key).ok_or("it does not exist")?;
        check(!is_terminating(db), || format!("{key} is being deleted"))?;
        let status = &db["status"];
        check(status["observedGeneration"] == db["metadata"]["generation"], || format!("{key} is behind"))?;
        check(is(db, "Ready"), || format!("{key} is not Ready: {}", condition(db, "Ready")))?;
        check(!is(db, "Reconciling"), || format!("{key} is at work: {}", condition(db, "Reconciling")))?;
        let stalled = condition(db, "Stalled");
        let why = stalled["reason"].as_str().unwrap_or("Running");
        check(!is(db, "Stalled") || STALLED.contains(&why), || format!("{key} is stalled: {stalled}"))?;
        let is_waiting = condition(db, "UpToDate")["reason"] == "UpgradeWaits";
        check(!is_waiting, || "an upgrade waits".to_owned())?;
        check(status["upgrade"]["step"].is_null(), || "an upgrade is under way".to_owned())?;
        check(status["backup"]["running"].is_null(), || "a backup is under way".to_owned())?;
        check(!self.is_due_soon(db), || "a backup is due".to_owned())?;
        let pod = self.infra.server(&self.cluster, key).ok_or("no server runs")?;
        let claim = self.infra.claim_of(&pod).ok_or("it has no claim")?;
        check(status["storage"]["claimUID"] == *claim, || format!("the server is on {claim}"))?;
        let growing = |volume: &Value| volume["status"]["capacity"] != volume["spec"]["resources"]["requests"];
        let grows = self.cluster.all(Pvc::KIND).any(|(_, volume)| growing(volume));
        check(!grows, || "a volume is growing".to_owned())?;
        let data = self.infra.disks.data(&claim).ok_or("there is no data")?;
        check(status["systemIdentifier"] == *data.id, || format!("the data are {}", data.id))?;
        check(data.allows_clients, || "clients cannot connect".to_owned())?;
        let acked = self.infra.acked.get(&*key.name).cloned().unwrap_or_default();
        let lost: Vec<&u32> = acked.difference(&data.rows).collect();
        check(lost.is_empty(), || format!("rows are lost: {lost:?}"))?;
        let ran = u32::from(!db["spec"]["init"]["sqlFrom"].is_null());
        check(data.init_sql_runs >= ran, || format!("the initial SQL ran {} times", data.init_sql_runs))?;
        let release =
            self.infra.pod_states[&pod].server.as_ref().map(|server| server.release.clone()).unwrap_or_default();
        check(status["engine"]["running"] == *release, || format!("{release} runs"))?;
        check(!is(db, "Stalled") || why != "Running", || "Stalled".to_owned())?;
        let requested = db["spec"]["engine"]["version"].as_str().filter(|_| !is(db, "Stalled"));
        let is_as_requested =
            requested.is_none_or(|requested| release == requested || release.starts_with(&format!("{requested}.")));
        let manual = db["spec"]["upgrade"]["policy"] == "Manual";
        check(is_as_requested || manual, || format!("{release} runs, not {requested:?}"))?;
        check(!self.infra.waits_for_restart(&self.cluster, &pod), || "the server is to start again".to_owned())?;
        let settings = self.wanted(db, &pod, &claim);
        check(settings || is(db, "Stalled"), || "parameters are not as asked".to_owned())
    }

    /// Whether a schedule would start a backup while the simulation is checked for quiet.
    fn is_due_soon(&self, db: &Value) -> bool {
        let next = db["status"]["backup"]["next"].as_str().and_then(|next| next.parse::<Timestamp>().ok());
        next.is_some_and(|next| next > self.infra.now && next <= self.infra.now + QUIET_TIME)
    }

    fn wanted(&self, db: &Value, pod: &str, claim: &str) -> bool {
        let pods = crate::pods::kubelet_pods(&self.cluster);
        let Some(pod) = pods.iter().find(|of| of.uid == pod) else { return false };
        let holds = self.infra.effective(&self.cluster, pod, claim);
        let wanted = db["spec"]["engine"]["parameters"].as_object().cloned().unwrap_or_default();
        wanted.iter().all(|(name, value)| holds.get(name).is_some_and(|held| *value == **held))
    }

    fn check_snapshots(&self) -> Result<(), String> {
        for (key, snapshot) in self.cluster.all(Snapshot::KIND) {
            check(!is_terminating(snapshot), || format!("the snapshot {key} is being deleted"))?;
            let phase = text(&snapshot["status"]["phase"]);
            let is_waiting = phase == "Pending" && self.databases().is_empty();
            let verified = text(&snapshot["status"]["verification"]["phase"]);
            let is_verified = !matches!((&*phase, &*verified), (_, "Running") | ("Ready", "Pending"));
            check(is_verified, || format!("the snapshot {key} is being verified"))?;
            check(matches!(&*phase, "Ready" | "Failed") || is_waiting, || format!("the snapshot {key} is {phase}"))?;
            let claim = snapshot["status"]["location"]["claim"].as_str().map(|claim| self.key.sibling(claim));
            let file = claim
                .and_then(|key| crate::infrastructure::claim_uid(&self.cluster, &key))
                .and_then(|claim| self.infra.disks.volumes.get(&claim)?.files.get(&path_of(snapshot)));
            check(phase != "Ready" || file.is_some(), || format!("the files of {key} are missing"))?;
            let copy = text(&snapshot["status"]["store"]["phase"]);
            let is_moving = matches!(&*copy, "Pending" | "Running" | "Failed") && phase == "Ready";
            check(!is_moving, || format!("the copy of the snapshot {key} is {copy}"))?;
        }
        Ok(())
    }

    /// Checks that nothing undocumented is left.
    fn check_leftovers(&self) -> Result<(), String> {
        let names = |kind| self.cluster.all(kind).map(|(key, _)| key.name.to_string()).collect::<BTreeSet<String>>();
        let jobs = names(Job::KIND);
        check(jobs.is_empty(), || format!("Jobs are left: {jobs:?}"))?;
        let (mut pods, mut claims, mut secrets) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for key in self.databases() {
            let status = &self.cluster.get(SampleDB::KIND, &key).ok_or("gone")?["status"];
            let storage = &status["storage"];
            pods.insert(format!("{}-0", text(&status["server"])));
            claims
                .extend([&storage["claim"], &storage["previousClaim"]].into_iter().filter(|c| c.is_string()).map(text));
            secrets.extend([format!("{}-app", key.name), format!("{}-system", key.name)]);
        }
        let found = names(Pod::KIND);
        check(found == pods, || format!("pods {found:?} instead of {pods:?}"))?;
        let retained = |name: &String| name.ends_with("-snapshots") || self.invariants.retained.contains(name);
        let found: BTreeSet<String> = names(Pvc::KIND).into_iter().filter(|name| !retained(name)).collect();
        claims.retain(|name| !retained(name));
        check(found == claims, || format!("claims {found:?} instead of {claims:?}"))?;
        let found: BTreeSet<String> = self.infra.secrets.keys().filter(|name| !retained(name)).cloned().collect();
        secrets.retain(|name| !retained(name));
        check(found == secrets, || format!("Secrets {found:?} instead of {secrets:?}"))?;
        let known: BTreeSet<String> = self.cluster.all(Snapshot::KIND).map(|(_, of)| path_of(of)).collect();
        let files = self.infra.disks.volumes.values().flat_map(|volume| volume.files.keys());
        let left: Vec<&String> = files
            .filter(|name| {
                !known.contains(*name) && !self.infra.abandoned_files.contains(*name) && !is_of_final_snapshot(name)
            })
            .collect();
        check(left.is_empty(), || format!("files are left: {left:?}"))
    }

    /// Checks that the operator writes nothing any more, while everything else continues.
    fn check_quiet(&mut self) -> Result<(), String> {
        let statuses = |sim: &Self| -> Vec<Value> {
            let kinds = [SampleDB::KIND, Snapshot::KIND];
            kinds.iter().flat_map(|kind| sim.cluster.all(*kind).map(|(_, object)| object["status"].clone())).collect()
        };
        let (writes, before) = (self.cluster.writes, statuses(self));
        for _ in 0..4 {
            self.tick();
            self.cluster.deliver_all_events();
            self.reconcile_all(ReconcileFaults::default());
            check(self.last == 0, || "a database at rest is changed".to_owned())?;
        }
        check(statuses(self) == before, || format!("status moves from {before:?} to {:?}", statuses(self)))?;
        check(self.cluster.writes == writes, || "a database at rest is written".to_owned())?;
        self.check_invariants()
    }

    /// The last part of the log, and the present state.
    pub fn report(&self) -> String {
        let from = self.trace.len().saturating_sub(120);
        let times =
            |(line, times): &(String, u32)| if *times > 1 { format!("{line} (x {times})") } else { line.clone() };
        let trace: Vec<String> = self.trace[from..].iter().map(times).collect();
        let statuses: Vec<String> = [SampleDB::KIND, Snapshot::KIND]
            .iter()
            .flat_map(|kind| self.cluster.all(*kind).map(|(key, object)| format!("{key} {}", object["status"])))
            .collect();
        let volumes: Vec<String> =
            self.infra.disks.volumes.iter().map(|(claim, volume)| format!("{claim} {volume:?}")).collect();
        format!("{}\n{}\n{}", trace.join("\n"), statuses.join("\n"), volumes.join("\n"))
    }
}

/// Whether files are those of a final snapshot, which are kept when it is retaken.
fn is_of_final_snapshot(name: &str) -> bool {
    name.contains("-final-")
}

/// A condition of an object.
pub fn condition<'o>(object: &'o Value, type_: &str) -> &'o Value {
    let all = object["status"]["conditions"].as_array();
    all.and_then(|all| all.iter().find(|condition| condition["type"] == type_)).unwrap_or(&Value::Null)
}

/// Whether a condition is True.
pub fn is(object: &Value, type_: &str) -> bool {
    condition(object, type_)["status"] == "True"
}

pub fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
