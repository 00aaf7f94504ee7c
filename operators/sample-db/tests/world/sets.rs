//! The StatefulSet controller, and the controllers of PVCs and Jobs.

use jiff::SignedDuration;
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{Job, Pod, Pvc, StatefulSet};
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

use crate::infrastructure::{Infrastructure, has_finalizers, is_terminating, text};
use crate::invariants::check_pvc_deletion;
use crate::kubelet::waits_for_pvc;

impl Infrastructure {
    /// Creates one pod for each StatefulSet, from the template that was last observed.
    pub fn run_stateful_sets(&mut self, cluster: &mut FakeCluster) {
        let all: Vec<(Key, Value)> =
            cluster.all(StatefulSet::KIND).map(|(key, set)| (key.clone(), set.clone())).collect();
        for (key, set) in all.into_iter().filter(|(_, set)| !is_terminating(set)) {
            let uid = text(&set["metadata"]["uid"]);
            let pod = key.sibling(&format!("{}-0", key.name));
            if let Some(read) = self.observed_sets.get(&uid)
                && cluster.get(Pod::KIND, &pod).is_none()
                && !self.namespace_terminating
                && !self.rejects(&read["spec"]["template"])
            {
                let mut created = pod_of("apps/v1", "StatefulSet", &key.name, &uid, &read["spec"]["template"]);
                created["metadata"]["labels"][POD_NAME] = json!(&*pod.name);
                cluster.create(Pod::KIND, &pod, created);
            }
            release_or_adopt_pod(cluster, &key, &set, &pod);
            let generation = set["metadata"]["generation"].clone();
            self.observed_sets.insert(uid, set.clone());
            if set["status"]["observedGeneration"] != generation {
                cluster.edit(StatefulSet::KIND, &key, |live| live["status"]["observedGeneration"] = generation);
            }
        }
    }

    /// Binds PVCs, resizes volumes, and removes terminating PVCs that no pod uses.
    pub fn run_pvcs(&mut self, cluster: &mut FakeCluster) {
        let unbound = |claim: &Value| claim["status"]["capacity"] != claim["spec"]["resources"]["requests"];
        let some = cluster.all(Pvc::KIND).filter(|(_, claim)| is_terminating(claim) || unbound(claim));
        let some: Vec<(Key, Value)> = some.map(cloned).collect();
        for (key, claim) in some {
            if is_terminating(&claim) {
                let used = cluster.all(Pod::KIND).any(|(_, pod)| {
                    // A pod that waits for a PVC is bound to no node, and so does not use one.
                    let state = self.pod_states.get(&text(&pod["metadata"]["uid"]));
                    let is_pending = state.is_some_and(|state| state.first.waiting.as_ref().is_some_and(waits_for_pvc));
                    let is_pending = is_pending && !key.name.starts_with("data-");
                    !is_pending && pod["spec"].to_string().contains(&uses(&key.name))
                });
                if !used && !has_finalizers(&claim) {
                    check_pvc_deletion(cluster, self, &claim);
                    self.disks.volumes.remove(&text(&claim["metadata"]["uid"]));
                    cluster.remove(Pvc::KIND, &key);
                }
                continue;
            }
            let size = claim["spec"]["resources"]["requests"]["storage"].clone();
            let status = json!({ "phase": "Bound", "capacity": { "storage": size } });
            if claim["status"] != status {
                cluster.edit(Pvc::KIND, &key, |live| live["status"] = status);
            }
        }
    }

    /// Creates one pod at a time for each Job, until one succeeds, too many have failed, or the deadline has passed.
    pub fn run_jobs(&mut self, cluster: &mut FakeCluster) {
        let all: Vec<(Key, Value)> = cluster.all(Job::KIND).map(|(key, job)| (key.clone(), job.clone())).collect();
        self.jobs.retain(|uid, _| all.iter().any(|(_, job)| job["metadata"]["uid"] == **uid));
        for (key, job) in all.into_iter().filter(|(_, job)| !is_terminating(job)) {
            self.run_job(cluster, &key, &job);
        }
    }

    fn run_job(&mut self, cluster: &mut FakeCluster, key: &Key, job: &Value) {
        let (uid, now) = (text(&job["metadata"]["uid"]), self.now);
        let (started, ended) = self.jobs.entry(uid.clone()).or_insert((now, None));
        if let Some(ended) = ended {
            let ttl = job["spec"]["ttlSecondsAfterFinished"].as_i64();
            if ttl.is_some_and(|ttl| now.duration_since(*ended) > SignedDuration::from_secs(ttl)) {
                cluster.remove(Job::KIND, key);
            }
            return;
        }
        let pods: Vec<(Key, Value)> = cluster.all(Pod::KIND).filter(|(_, pod)| owned(pod, &uid)).map(cloned).collect();
        let code = |pod: &Value| pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"].as_i64();
        let done = pods.iter().any(|(_, pod)| code(pod) == Some(0));
        let failed = pods.iter().filter(|(_, pod)| code(pod).is_some_and(|code| code != 0)).count();
        let limit = job["spec"]["backoffLimit"].as_u64().unwrap_or(6);
        let deadline = SignedDuration::from_secs(job["spec"]["activeDeadlineSeconds"].as_i64().unwrap_or(i64::MAX));
        let late = now.duration_since(*started) > deadline;
        // Deleted pods count as failed; they are counted by the number of pods that were created.
        let created = job["status"]["made"].as_u64().unwrap_or(0);
        let active = pods.iter().any(|(_, pod)| code(pod).is_none());
        let lost = created.saturating_sub(pods.len() as u64);
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
            let argv = job["spec"]["template"]["spec"]["containers"][0]["command"].as_array().into_iter().flatten();
            let pruned = argv.filter_map(|argument| argument.as_str()?.strip_prefix("--name="));
            self.abandoned_files.extend(pruned.map(str::to_owned));
            cluster.edit(Job::KIND, key, |live| live["status"]["conditions"] = json!([condition]));
            for (pod, _) in pods.iter().filter(|(_, pod)| code(pod).is_none()) {
                cluster.delete(Pod::KIND, pod);
            }
        } else if !active && !self.namespace_terminating {
            let pod = key.sibling(&format!("{}-{created}", key.name));
            let mut body = pod_of("batch/v1", "Job", &key.name, &uid, &job["spec"]["template"]);
            body["metadata"]["labels"]["batch.kubernetes.io/job-name"] = json!(&*key.name);
            cluster.create(Pod::KIND, &pod, body);
            cluster.edit(Job::KIND, key, |live| live["status"]["made"] = json!(created + 1));
        }
    }
}

/// The controller releases a pod that its selector no longer matches, and adopts one that it matches and that has no controller.
fn release_or_adopt_pod(cluster: &mut FakeCluster, key: &Key, set: &Value, pod: &Key) {
    let Some(live) = cluster.get(Pod::KIND, pod) else { return };
    let (metadata, selector) = (live["metadata"].clone(), &set["spec"]["selector"]["matchLabels"]);
    let finds =
        selector.as_object().is_none_or(|all| all.iter().all(|(name, value)| metadata["labels"][name] == *value));
    let uid = text(&set["metadata"]["uid"]);
    let owners = metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty());
    match (owned(live, &uid), finds) {
        (true, false) => cluster.edit(Pod::KIND, pod, |live| live["metadata"]["ownerReferences"] = json!([])),
        (false, true) if !owners => cluster.edit(Pod::KIND, pod, |live| {
            live["metadata"]["ownerReferences"] = controller("apps/v1", "StatefulSet", &key.name, &uid);
        }),
        _ => {}
    }
}

/// Label that the StatefulSet controller sets on each pod.
pub const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

fn cloned((key, object): (&Key, &Value)) -> (Key, Value) {
    (key.clone(), object.clone())
}

/// Whether the object with that UID is an owner.
pub fn owned(object: &Value, uid: &str) -> bool {
    object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| owners.iter().any(|of| of["uid"] == *uid))
}

/// How a pod's spec refers to a PVC.
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
