//! Where a world comes to rest.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{Claim, Job, Pod};
use runtime::testing::branching::Pass;
use sample_db::{SampleDB, Snapshot};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::collector::KINDS;
use crate::site::{Faults, is_going, path_of, text};

/// Within so many rounds a world without faults is at rest.
const ROUNDS: usize = 300;
/// After so many, time flies: something is waited for that takes minutes.
const PATIENCE: usize = 200;

/// Longer than it is looked whether anything moves.
const SILENCE: SignedDuration = SignedDuration::from_mins(1);

/// Why a database may be Stalled though it serves: a person has to look.
const STALLED: [&str; 6] =
    ["UpgradeFailed", "DowngradeRefused", "VersionUnknown", "UpgradePathUnknown", "ParameterRefused", "Running"];

impl Bench {
    /// Ends all faults that can end, lets everything come to rest, and has it stay so.
    ///
    /// # Errors
    /// Why it does not, or what was done that must never be.
    pub fn settle(&mut self) -> Result<(), String> {
        self.say("settling");
        self.site.faults = Faults::default();
        self.site.sql.1 = true;
        for key in self.databases() {
            self.world.edit(SampleDB::KIND, &key, |object| object["spec"]["paused"] = json!(false));
        }
        self.rest_with(Self::person)
    }

    /// Lets everything come to rest with the faults that there are, and has it stay so.
    ///
    /// # Errors
    /// As those of [`Bench::settle`].
    pub fn come_to_rest(&mut self) -> Result<(), String> {
        self.rest_with(|_| {})
    }

    fn rest_with(&mut self, person: fn(&mut Self)) -> Result<(), String> {
        let (mut rests, mut rested, mut writes) = (Ok(()), 0, 0);
        for round in 0..ROUNDS {
            // Not while something is at work: all of a backup's rounds would take as long as there is between two of a schedule.
            if round > PATIENCE && self.world.writes == writes {
                self.site.now += SignedDuration::from_secs(30);
            }
            writes = self.world.writes;
            self.round();
            self.innocent()?;
            person(self);
            rests = self.at_rest();
            rested = if rests.is_ok() { rested + 1 } else { 0 };
            if rested > 1 {
                break;
            }
        }
        rests?;
        self.silent()
    }

    /// That nothing has been done that must never be.
    ///
    /// # Errors
    /// What has been done.
    pub fn innocent(&self) -> Result<(), String> {
        if self.site.violations.is_empty() { Ok(()) } else { Err(self.site.violations.join("; ")) }
    }

    /// The databases there are.
    pub fn databases(&self) -> Vec<Key> {
        self.world.all(SampleDB::KIND).map(|(key, _)| key.clone()).collect()
    }

    /// Whether all is as asked.
    ///
    /// # Errors
    /// What is not.
    pub fn at_rest(&self) -> Result<(), String> {
        if self.site.going {
            let left =
                KINDS.iter().flat_map(|kind| self.world.all(*kind).map(|(key, _)| format!("{} {key}", kind.kind)));
            let left: Vec<String> = left.collect();
            return check(left.is_empty(), || format!("the namespace still has {left:?}"));
        }
        self.databases().iter().try_for_each(|key| self.database_rests(key))?;
        self.snapshots_rest()?;
        self.nothing_is_left()
    }

    fn database_rests(&self, key: &Key) -> Result<(), String> {
        let db = self.world.get(SampleDB::KIND, key).ok_or("it is gone")?;
        check(!is_going(db), || format!("{key} is being deleted"))?;
        let status = &db["status"];
        check(status["observedGeneration"] == db["metadata"]["generation"], || format!("{key} is behind"))?;
        check(is(db, "Ready"), || format!("{key} is not Ready: {}", condition(db, "Ready")))?;
        check(!is(db, "Reconciling"), || format!("{key} is at work: {}", condition(db, "Reconciling")))?;
        let stalled = condition(db, "Stalled");
        let why = stalled["reason"].as_str().unwrap_or("Running");
        check(!is(db, "Stalled") || STALLED.contains(&why), || format!("{key} is stalled: {stalled}"))?;
        let waits = condition(db, "UpToDate")["reason"] == "UpgradeWaits";
        check(!waits, || "an upgrade waits for its turn".to_owned())?;
        check(status["upgrade"]["step"].is_null(), || "an upgrade is under way".to_owned())?;
        check(status["backup"]["running"].is_null(), || "a backup is under way".to_owned())?;
        check(!self.is_due_soon(db), || "a backup is due".to_owned())?;
        let pod = self.site.server(&self.world, key).ok_or("no server runs")?;
        let claim = self.site.claim_of(&pod).ok_or("it has no claim")?;
        check(status["storage"]["claimUID"] == *claim, || format!("the server is on {claim}"))?;
        let growing = |volume: &Value| volume["status"]["capacity"] != volume["spec"]["resources"]["requests"];
        let grows = self.world.all(Claim::KIND).any(|(_, volume)| growing(volume));
        check(!grows, || "a volume is growing".to_owned())?;
        let data = self.site.disks.data(&claim).ok_or("there is no data")?;
        check(status["systemIdentifier"] == *data.id, || format!("the data are {}", data.id))?;
        check(data.open, || "nobody gets in".to_owned())?;
        let acked = self.site.acked.get(&*key.name).cloned().unwrap_or_default();
        let lost: Vec<&u32> = acked.difference(&data.rows).collect();
        check(lost.is_empty(), || format!("rows are lost: {lost:?}"))?;
        let ran = u32::from(!db["spec"]["init"]["sqlFrom"].is_null());
        check(data.ran >= ran, || format!("the initial SQL ran {} times", data.ran))?;
        let release = self.site.lives[&pod].server.as_ref().map(|server| server.release.clone()).unwrap_or_default();
        check(status["engine"]["running"] == *release, || format!("{release} runs"))?;
        check(!is(db, "Stalled") || why != "Running", || "Stalled".to_owned())?;
        let asked = db["spec"]["engine"]["version"].as_str().filter(|_| !is(db, "Stalled"));
        let as_asked = asked.is_none_or(|asked| release == asked || release.starts_with(&format!("{asked}.")));
        let manual = db["spec"]["upgrade"]["policy"] == "Manual";
        check(as_asked || manual, || format!("{release} runs, not {asked:?}"))?;
        check(!self.site.waits_for_restart(&self.world, &pod), || "the server is to start again".to_owned())?;
        let settings = self.wanted(db, &pod, &claim);
        check(settings || is(db, "Stalled"), || "parameters are not as asked".to_owned())
    }

    /// Whether a schedule would begin something while it is looked whether the world stays at rest.
    fn is_due_soon(&self, db: &Value) -> bool {
        let next = db["status"]["backup"]["next"].as_str().and_then(|next| next.parse::<Timestamp>().ok());
        next.is_some_and(|next| next > self.site.now && next <= self.site.now + SILENCE)
    }

    fn wanted(&self, db: &Value, pod: &str, claim: &str) -> bool {
        let pods = crate::pods::seen(&self.world);
        let Some(pod) = pods.iter().find(|of| of.uid == pod) else { return false };
        let holds = self.site.effective(&self.world, pod, claim);
        let wanted = db["spec"]["engine"]["parameters"].as_object().cloned().unwrap_or_default();
        wanted.iter().all(|(name, value)| holds.get(name).is_some_and(|held| *value == **held))
    }

    fn snapshots_rest(&self) -> Result<(), String> {
        for (key, snapshot) in self.world.all(Snapshot::KIND) {
            check(!is_going(snapshot), || format!("the snapshot {key} is being deleted"))?;
            let phase = text(&snapshot["status"]["phase"]);
            let waits = phase == "Pending" && self.databases().is_empty();
            let verified = text(&snapshot["status"]["verification"]["phase"]);
            let judged = !matches!((&*phase, &*verified), (_, "Running") | ("Ready", "Pending"));
            check(judged, || format!("the snapshot {key} is being verified"))?;
            check(matches!(&*phase, "Ready" | "Failed") || waits, || format!("the snapshot {key} is {phase}"))?;
            let claim = snapshot["status"]["location"]["claim"].as_str().map(|claim| self.key.sibling(claim));
            let file = claim
                .and_then(|key| crate::site::claim_uid(&self.world, &key))
                .and_then(|claim| self.site.disks.volumes.get(&claim)?.files.get(&path_of(snapshot)));
            check(phase != "Ready" || file.is_some(), || format!("the files of {key} are gone"))?;
        }
        Ok(())
    }

    /// That there is nothing beyond what is documented.
    fn nothing_is_left(&self) -> Result<(), String> {
        let names = |kind| self.world.all(kind).map(|(key, _)| key.name.to_string()).collect::<BTreeSet<String>>();
        let jobs = names(Job::KIND);
        check(jobs.is_empty(), || format!("Jobs are left: {jobs:?}"))?;
        let (mut pods, mut claims, mut secrets) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for key in self.databases() {
            let status = &self.world.get(SampleDB::KIND, &key).ok_or("gone")?["status"];
            let storage = &status["storage"];
            pods.insert(format!("{}-0", text(&status["server"])));
            claims
                .extend([&storage["claim"], &storage["previousClaim"]].into_iter().filter(|c| c.is_string()).map(text));
            secrets.extend([format!("{}-app", key.name), format!("{}-system", key.name)]);
        }
        let found = names(Pod::KIND);
        check(found == pods, || format!("pods {found:?} instead of {pods:?}"))?;
        let kept = |name: &String| name.ends_with("-snapshots") || self.guard.kept.contains(name);
        let found: BTreeSet<String> = names(Claim::KIND).into_iter().filter(|name| !kept(name)).collect();
        claims.retain(|name| !kept(name));
        check(found == claims, || format!("claims {found:?} instead of {claims:?}"))?;
        let found: BTreeSet<String> = self.site.secrets.keys().filter(|name| !kept(name)).cloned().collect();
        secrets.retain(|name| !kept(name));
        check(found == secrets, || format!("Secrets {found:?} instead of {secrets:?}"))?;
        let known: BTreeSet<String> = self.world.all(Snapshot::KIND).map(|(_, of)| path_of(of)).collect();
        let files = self.site.disks.volumes.values().flat_map(|volume| volume.files.keys());
        let left: Vec<&String> =
            files.filter(|name| !known.contains(*name) && !self.site.left.contains(*name) && !is_last(name)).collect();
        check(left.is_empty(), || format!("files are left: {left:?}"))
    }

    /// That nothing is done any more, while others go on.
    fn silent(&mut self) -> Result<(), String> {
        let statuses = |bench: &Self| -> Vec<Value> {
            let kinds = [SampleDB::KIND, Snapshot::KIND];
            kinds.iter().flat_map(|kind| bench.world.all(*kind).map(|(_, object)| object["status"].clone())).collect()
        };
        let (writes, before) = (self.world.writes, statuses(self));
        for _ in 0..4 {
            self.tick();
            self.world.deliver_all();
            self.pass(Pass::default());
            check(self.last == 0, || "a database at rest is changed".to_owned())?;
        }
        check(statuses(self) == before, || format!("status moves from {before:?} to {:?}", statuses(self)))?;
        check(self.world.writes == writes, || "a database at rest is written".to_owned())?;
        self.innocent()
    }

    /// The end of what happened, in words.
    pub fn story(&self) -> String {
        let from = self.trace.len().saturating_sub(120);
        let times =
            |(line, times): &(String, u32)| if *times > 1 { format!("{line} (x {times})") } else { line.clone() };
        let trace: Vec<String> = self.trace[from..].iter().map(times).collect();
        let statuses: Vec<String> = [SampleDB::KIND, Snapshot::KIND]
            .iter()
            .flat_map(|kind| self.world.all(*kind).map(|(key, object)| format!("{key} {}", object["status"])))
            .collect();
        let volumes: Vec<String> =
            self.site.disks.volumes.iter().map(|(claim, volume)| format!("{claim} {volume:?}")).collect();
        format!("{}\n{}\n{}", trace.join("\n"), statuses.join("\n"), volumes.join("\n"))
    }
}

/// Whether files are those of a final snapshot, which are kept when it is taken anew.
fn is_last(name: &str) -> bool {
    name.contains("-final-")
}

/// A condition of an object.
pub fn condition<'o>(object: &'o Value, type_: &str) -> &'o Value {
    let all = object["status"]["conditions"].as_array();
    all.and_then(|all| all.iter().find(|condition| condition["type"] == type_)).unwrap_or(&Value::Null)
}

/// Whether it is True.
pub fn is(object: &Value, type_: &str) -> bool {
    condition(object, type_)["status"] == "True"
}

pub fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
