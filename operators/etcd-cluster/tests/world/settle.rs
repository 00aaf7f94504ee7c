//! Settling a world: the desired state is reached, and nothing is written any more.

use std::collections::BTreeSet;

use api::etcd_cluster::MOVE_LEADER;
use etcd_cluster::EtcdClusterKind;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::{CustomKind as _, Pod, Pvc};
use runtime::testing::fault_injection::ReconcileFaults;
use serde_json::Value;

use crate::bench::Bench;
use crate::faults::name_of;
use crate::kubelet::seen;

/// The rounds within which a world without faults settles.
const ROUNDS: usize = 360;
/// The rounds after which time advances faster, because something takes minutes.
const PATIENT_ROUNDS: usize = 160;

impl Bench {
    /// Ends all faults that can end, settles the world, and checks that it stays settled.
    ///
    /// # Errors
    /// Why it does not settle, or which invariant is violated.
    pub fn settle(&mut self) -> Result<(), String> {
        self.log("settling");
        self.end_faults();
        self.edit(|object| {
            object["spec"]["paused"] = false.into();
            object["spec"]["hibernate"] = false.into();
            if let Some(pod) = object["spec"].get_mut("pod").and_then(serde_json::Value::as_object_mut) {
                pod.remove("nodeSelector");
            }
            if object["spec"]["options"]["max-wals"] == "many" {
                // The API server keeps no field that is null.
                object["spec"].as_object_mut().map(|spec| spec.remove("options"));
            }
            let labels = &object["spec"]["pod"]["labels"];
            if labels["isolated"].is_string() || labels["hidden"].is_string() {
                object["spec"].as_object_mut().map(|spec| spec.remove("pod"));
            }
        });
        let (mut rests, mut rested) = (Ok(()), 0);
        for round in 0..ROUNDS {
            if round > PATIENT_ROUNDS {
                self.now += jiff::SignedDuration::from_secs(30);
            }
            self.round();
            self.check_invariants()?;
            rests = self.at_rest();
            // Undelivered watch events may still change it.
            rested = if rests.is_ok() { rested + 1 } else { 0 };
            if rested > 3 {
                break;
            }
        }
        rests?;
        self.silent()
    }

    /// Ends all faults that can end.
    pub fn end_faults(&mut self) {
        self.kubelet.down.clear();
        self.kubelet.missing.clear();
        self.cut.clear();
        self.policy = false;
        self.refuse_pods(false, false);
        (self.mute, self.blind, self.etcds.full) = (false, false, false);
        (self.etcds.pace.slow, self.etcds.pace.lazy) = (false, false);
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The violated invariants.
    pub fn check_invariants(&self) -> Result<(), String> {
        check(self.etcds.violations.is_empty(), || self.etcds.violations.join("; "))?;
        // OpenShift rejects a pod that sets its user; elsewhere the kubelet rejects one that might run as root.
        let managed = |pod: &Value| pod["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "multi-operator";
        let fits = |pod: &Value| pod["spec"]["securityContext"]["runAsUser"].is_null() == self.assigns_uids;
        let odd = self.world.all(Pod::KIND).find(|(_, pod)| managed(pod) && !fits(pod));
        odd.map_or(Ok(()), |(key, _)| Err(format!("pod {key} runs as the wrong user")))
    }

    /// Checks that the desired state is reached.
    ///
    /// # Errors
    /// What differs.
    pub fn at_rest(&self) -> Result<(), String> {
        let (spec, status) = (&self.object()["spec"], self.status());
        let cluster = self.cluster().ok_or("there is no cluster")?;
        let reason = self.condition("Ready").map_or("", |ready| ready["reason"].as_str().unwrap_or_default());
        let refused = matches!(reason, "UpgradeRefused" | "DataInPods") || reason == "MemberLost" && self.is_doomed();
        check(self.is("Ready") || refused, || format!("not Ready: {reason}"))?;
        check(refused == self.is("Stalled"), || format!("Stalled says otherwise than {reason}"))?;
        let size = usize::try_from(spec["size"].as_i64().unwrap_or(0)).unwrap_or(0);
        check(cluster.members.len() == size, || format!("{} members instead of {size}", cluster.members.len()))?;
        check(cluster.voters().count() == size, || "a learner is left".to_owned())?;
        let asked = &self.object()["metadata"]["annotations"][MOVE_LEADER];
        // A rejected version does not keep members from electing a leader, unless it hides that the desired state is impossible.
        let reported = self.condition("Ready").map_or("", |ready| ready["message"].as_str().unwrap_or_default());
        let stuck = refused && (reason != "UpgradeRefused" || is_impossible(reported));
        let led = stuck || *asked == status["leaderMovedFor"] && status["leaderMovingFrom"].is_null();
        check(led, || format!("another leader is asked for by {asked}: {status}"))?;
        let members: BTreeSet<String> = cluster.members.iter().map(|member| name_of(member).to_owned()).collect();
        let pods: BTreeSet<String> = self.world.all(Pod::KIND).map(|(key, _)| key.name.to_string()).collect();
        check(pods == members, || format!("pods {pods:?} of members {members:?}"))?;
        self.claims_match(&members)?;
        self.versions_match(reason)?;
        check(status["ready"] == format!("{size}/{size}"), || format!("ready {}", status["ready"]))?;
        for type_ in ["Recovering", "Scaling"] {
            check(!self.is(type_), || format!("still {type_}"))?;
        }
        check(self.is("QuorumHealthy") && self.is("Available"), || "not available".to_owned())
    }

    /// Whether a volume will be deleted with its pod.
    fn is_doomed(&self) -> bool {
        let doomed =
            |claim: &Value| !claim["metadata"]["deletionTimestamp"].is_null() || claim["status"]["phase"] == "Lost";
        self.world.all(Pvc::KIND).any(|(_, claim)| doomed(claim))
    }

    fn claims_match(&self, members: &BTreeSet<String>) -> Result<(), String> {
        let retired = |claim: &Value| claim["metadata"]["labels"]["multi-operator.example.com/retired"].is_string();
        let all = || self.world.all(Pvc::KIND);
        let claims: BTreeSet<String> =
            all().filter(|(_, claim)| !retired(claim)).map(|(key, _)| key.name.to_string()).collect();
        let durable = self.status()["storage"]["durable"] == true;
        let wanted = if durable { members.clone() } else { BTreeSet::new() };
        check(claims == wanted, || format!("claims {claims:?} of members {members:?}"))?;
        let retains = self.object()["spec"]["storage"]["onDelete"] != "Delete";
        let given_up = |key: &Key| {
            let recovery = &self.status()["recovery"];
            let without = recovery["without"].as_array().filter(|_| recovery["outcome"] == "Recovered");
            without.is_some_and(|names| names.iter().any(|name| *name == *key.name))
        };
        let lost = |claim: &Value| claim["metadata"]["labels"]["multi-operator.example.com/retiring"] == "retain";
        let left = all().any(|(key, claim)| retired(claim) && !given_up(key) && !lost(claim));
        // A restore retires the volumes of earlier members, and a canceled one that of the new member.
        let restored = self.status()["restore"].is_object();
        check(retains || !left || restored, || "a claim is retired, not deleted".to_owned())?;
        let deleted = all().any(|(key, claim)| given_up(key) && !retired(claim));
        check(!deleted, || "a claim of a member that was given up is not retired".to_owned())
    }

    fn versions_match(&self, reason: &str) -> Result<(), String> {
        let target = self.status()["targetVersion"].as_str().unwrap_or_default().to_owned();
        let asked = self.object()["spec"]["version"].as_str().map(|version| version.trim_start_matches('v').to_owned());
        let as_asked = asked.is_none_or(|asked| asked == target);
        // A rejected version does not hide these.
        let reported = self.condition("Ready").map_or("", |ready| ready["message"].as_str().unwrap_or_default());
        let restless = is_impossible(reported);
        check(as_asked != (reason == "UpgradeRefused") || restless, || format!("target {target}, and {reason}"))?;
        for pod in seen(&self.world) {
            let runs = self.etcds.processes.get(&pod.name).map(|process| process.version.to_string());
            check(restless || runs.as_ref() == Some(&target), || format!("{} runs {runs:?}, not {target}", pod.name))?;
        }
        let templates: BTreeSet<String> = self
            .world
            .all(Pod::KIND)
            .map(|(_, pod)| pod["metadata"]["annotations"]["multi-operator.example.com/template"].to_string())
            .collect();
        check(templates.len() <= 1 || restless, || format!("pods of several templates: {templates:?}"))
    }

    /// Checks that the operator writes nothing more while others continue.
    fn silent(&mut self) -> Result<(), String> {
        let (writes, status) = (self.world.writes, self.status().clone());
        for _ in 0..4 {
            self.tick();
            self.world.deliver_all_events();
            self.pass(ReconcileFaults::default());
            check(self.last == 0, || "a cluster at rest is changed".to_owned())?;
        }
        check(*self.status() == status, || format!("status moves: {}", difference(&status, self.status())))?;
        check(self.world.writes == writes, || "a cluster at rest is written".to_owned())?;
        self.check_invariants()
    }

    /// A condition of the status.
    pub fn condition(&self, type_: &str) -> Option<&Value> {
        self.status()["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
    }

    /// Whether it is True.
    pub fn is(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|condition| condition["status"] == "True")
    }

    /// The last lines of the log, even if the object no longer exists.
    pub fn history(&self) -> String {
        if self.world.get(EtcdClusterKind::KIND, &self.key).is_some() { self.story() } else { self.happened() }
    }

    /// The last lines of the log, and the status.
    pub fn story(&self) -> String {
        let conditions: Vec<String> = self.status()["conditions"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|c| format!("{} {} {}: {}", c["type"], c["status"], c["reason"], c["message"]))
            .collect();
        format!("{}\n{}", self.happened(), conditions.join("\n"))
    }

    fn happened(&self) -> String {
        let from = self.trace.len().saturating_sub(120);
        let times =
            |(line, times): &(String, u32)| if *times > 1 { format!("{line} (x {times})") } else { line.clone() };
        self.trace[from..].iter().map(times).collect::<Vec<_>>().join("\n")
    }
}

/// Whether the message reports that the desired state is impossible.
fn is_impossible(message: &str) -> bool {
    message.contains("needs new pods") || message.contains("cannot restart")
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// The difference between two statuses.
fn difference(one: &Value, other: &Value) -> String {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let parts = keys.into_iter().filter(|key| one[*key] != other[*key]);
            parts.map(|key| format!("{key}: {}", difference(&one[key], &other[key]))).collect::<Vec<_>>().join("; ")
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let parts = a.iter().zip(b).filter(|(a, b)| a != b);
            parts.map(|(a, b)| difference(a, b)).collect::<Vec<_>>().join("; ")
        }
        _ => format!("{one} then {other}"),
    }
}
