//! The StatefulSet controller, and what keeps claims and Jobs.

use jiff::SignedDuration;
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{Claim, Job, Pod, StatefulSet};
use runtime::testing::World;
use serde_json::{Value, json};

use crate::guard::judge_end;
use crate::kubelet::waits_for_claim;
use crate::site::{Site, is_going, is_held, text};

impl Site {
    /// One pod for each StatefulSet, made as it was last read.
    pub fn keep_sets(&mut self, world: &mut World) {
        let all: Vec<(Key, Value)> =
            world.all(StatefulSet::KIND).map(|(key, set)| (key.clone(), set.clone())).collect();
        for (key, set) in all.into_iter().filter(|(_, set)| !is_going(set)) {
            let uid = text(&set["metadata"]["uid"]);
            let pod = key.sibling(&format!("{}-0", key.name));
            if let Some(read) = self.read.get(&uid)
                && world.get(Pod::KIND, &pod).is_none()
                && !self.going
                && !self.rejects(&read["spec"]["template"])
            {
                let mut made = pod_of("apps/v1", "StatefulSet", &key.name, &uid, &read["spec"]["template"]);
                made["metadata"]["labels"][POD_NAME] = json!(&*pod.name);
                world.create(Pod::KIND, &pod, made);
            }
            keep_by_labels(world, &key, &set, &pod);
            let generation = set["metadata"]["generation"].clone();
            self.read.insert(uid, set.clone());
            if set["status"]["observedGeneration"] != generation {
                world.edit(StatefulSet::KIND, &key, |live| live["status"]["observedGeneration"] = generation);
            }
        }
    }

    /// Binds claims, makes volumes as large as asked for, and lets those go that no pod uses.
    pub fn keep_claims(&mut self, world: &mut World) {
        let unbound = |claim: &Value| claim["status"]["capacity"] != claim["spec"]["resources"]["requests"];
        let some = world.all(Claim::KIND).filter(|(_, claim)| is_going(claim) || unbound(claim));
        let some: Vec<(Key, Value)> = some.map(cloned).collect();
        for (key, claim) in some {
            if is_going(&claim) {
                let used = world.all(Pod::KIND).any(|(_, pod)| {
                    // One that waits for a claim is given to no node, and so keeps none.
                    let life = self.lives.get(&text(&pod["metadata"]["uid"]));
                    let waits = life.is_some_and(|life| life.first.waiting.as_ref().is_some_and(waits_for_claim));
                    let waits = waits && !key.name.starts_with("data-");
                    !waits && pod["spec"].to_string().contains(&uses(&key.name))
                });
                if !used && !is_held(&claim) {
                    judge_end(world, self, &claim);
                    self.disks.volumes.remove(&text(&claim["metadata"]["uid"]));
                    world.remove(Claim::KIND, &key);
                }
                continue;
            }
            let size = claim["spec"]["resources"]["requests"]["storage"].clone();
            let status = json!({ "phase": "Bound", "capacity": { "storage": size } });
            if claim["status"] != status {
                world.edit(Claim::KIND, &key, |live| live["status"] = status);
            }
        }
    }

    /// One pod at a time for each Job, until one ends well, or too many have failed, or its time is over.
    pub fn keep_jobs(&mut self, world: &mut World) {
        let all: Vec<(Key, Value)> = world.all(Job::KIND).map(|(key, job)| (key.clone(), job.clone())).collect();
        self.jobs.retain(|uid, _| all.iter().any(|(_, job)| job["metadata"]["uid"] == **uid));
        for (key, job) in all.into_iter().filter(|(_, job)| !is_going(job)) {
            self.keep_job(world, &key, &job);
        }
    }

    fn keep_job(&mut self, world: &mut World, key: &Key, job: &Value) {
        let (uid, now) = (text(&job["metadata"]["uid"]), self.now);
        let (began, ended) = self.jobs.entry(uid.clone()).or_insert((now, None));
        if let Some(ended) = ended {
            let linger = job["spec"]["ttlSecondsAfterFinished"].as_i64();
            if linger.is_some_and(|linger| now.duration_since(*ended) > SignedDuration::from_secs(linger)) {
                world.remove(Job::KIND, key);
            }
            return;
        }
        let pods: Vec<(Key, Value)> = world.all(Pod::KIND).filter(|(_, pod)| owned(pod, &uid)).map(cloned).collect();
        let code = |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].as_i64();
        let done = pods.iter().any(|(_, pod)| code(pod) == Some(0));
        let failed = pods.iter().filter(|(_, pod)| code(pod).is_some_and(|code| code != 0)).count();
        let limit = job["spec"]["backoffLimit"].as_u64().unwrap_or(6);
        let deadline = SignedDuration::from_secs(job["spec"]["activeDeadlineSeconds"].as_i64().unwrap_or(i64::MAX));
        let late = now.duration_since(*began) > deadline;
        // Pods that were deleted count, too: here they are told by how many have been.
        let made = job["status"]["made"].as_u64().unwrap_or(0);
        let active = pods.iter().any(|(_, pod)| code(pod).is_none());
        let lost = made.saturating_sub(pods.len() as u64);
        let condition = match (done, failed as u64 + lost > limit, late) {
            (true, ..) => json!({ "type": "Complete", "status": "True", "reason": "Completed", "message": "" }),
            (_, true, _) => {
                json!({ "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit" })
            }
            (.., true) => {
                json!({ "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "Job was active longer than specified deadline" })
            }
            _ => Value::Null,
        };
        if !condition.is_null() {
            *ended = Some(now);
            let words = job["spec"]["template"]["spec"]["containers"][0]["command"].as_array().into_iter().flatten();
            let pruned = words.filter_map(|word| word.as_str()?.strip_prefix("--name="));
            self.left.extend(pruned.map(str::to_owned));
            world.edit(Job::KIND, key, |live| live["status"]["conditions"] = json!([condition]));
            for (pod, _) in pods.iter().filter(|(_, pod)| code(pod).is_none()) {
                world.begin_removal(Pod::KIND, pod);
            }
        } else if !active && !self.going {
            let pod = key.sibling(&format!("{}-{made}", key.name));
            let mut body = pod_of("batch/v1", "Job", &key.name, &uid, &job["spec"]["template"]);
            body["metadata"]["labels"]["batch.kubernetes.io/job-name"] = json!(&*key.name);
            world.create(Pod::KIND, &pod, body);
            world.edit(Job::KIND, key, |live| live["status"]["made"] = json!(made + 1));
        }
    }
}

/// The controller gives up a pod that its selector finds no longer, and takes one that it finds, and that has no controller.
fn keep_by_labels(world: &mut World, key: &Key, set: &Value, pod: &Key) {
    let Some(live) = world.get(Pod::KIND, pod) else { return };
    let (metadata, wanted) = (live["metadata"].clone(), &set["spec"]["selector"]["matchLabels"]);
    let finds = wanted.as_object().is_none_or(|all| all.iter().all(|(name, value)| metadata["labels"][name] == *value));
    let uid = text(&set["metadata"]["uid"]);
    let owners = metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    match (owned(live, &uid), finds) {
        (true, false) => world.edit(Pod::KIND, pod, |live| live["metadata"]["ownerReferences"] = json!([])),
        (false, true) if !owners => world.edit(Pod::KIND, pod, |live| {
            live["metadata"]["ownerReferences"] = controller("apps/v1", "StatefulSet", &key.name, &uid);
        }),
        _ => {}
    }
}

/// Label by which the controller of StatefulSets marks each pod.
pub const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

fn cloned((key, object): (&Key, &Value)) -> (Key, Value) {
    (key.clone(), object.clone())
}

/// Whether the object of that uid is an owner.
pub fn owned(object: &Value, uid: &str) -> bool {
    object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| owners.iter().any(|of| of["uid"] == *uid))
}

/// How a claim stands in a pod's spec.
pub fn uses(claim: &str) -> String {
    format!("{{\"claimName\":\"{claim}\"}}")
}

fn pod_of(version: &str, kind: &str, name: &str, uid: &str, template: &Value) -> Value {
    let mut pod = template.clone();
    pod["metadata"]["ownerReferences"] = controller(version, kind, name, uid);
    pod
}

fn controller(version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!([{ "apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": true }])
}
