//! The Deployment's controller, and a kubelet.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::ToSpan;
use runtime::cache::Projection;
use runtime::plan::{Key, ResourceKind};
use runtime::projections::{Deployment, Pod};
use serde_json::{Value, json};

use super::Site;
use super::step::State;

const REPLICA_SETS: ResourceKind =
    ResourceKind { group: "apps", version: "v1", kind: "ReplicaSet", plural: "replicasets" };

/// The ReplicaSet of a Deployment's template.
pub(super) fn replica_set(deployment: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    deployment["spec"]["template"].to_string().hash(&mut hasher);
    format!("app-{:x}", hasher.finish())
}

impl Site {
    fn pods(&self) -> Vec<(Key, String)> {
        let of = |pod: &Value| pod["metadata"]["ownerReferences"][0]["name"].as_str().unwrap_or_default().to_owned();
        self.cluster.all(Pod::KIND).map(|(key, pod)| (key.clone(), of(pod))).collect()
    }

    /// The Deployment's controller: one step toward as many pods of its template, and its status.
    pub(super) fn sync(&mut self, rejected: bool) {
        let Some(live) = self.cluster.get(Deployment::KIND, &self.key).cloned() else { return };
        let (set, desired) = (replica_set(&live), live["spec"]["replicas"].as_u64().unwrap_or(1));
        let desired = usize::try_from(desired).expect("a few");
        let set_key = self.key.sibling(&set);
        if self.cluster.get(REPLICA_SETS, &set_key).is_none() {
            let owner = json!([{ "apiVersion": "apps/v1", "kind": "Deployment", "name": &*self.key.name,
                "uid": live["metadata"]["uid"], "controller": true }]);
            self.cluster.create(REPLICA_SETS, &set_key, json!({ "metadata": { "ownerReferences": owner } }));
        }
        let mut present = 0;
        // It counts no pod that its ReplicaSet has released.
        for (pod, of) in self.pods().into_iter().filter(|(_, of)| !of.is_empty()) {
            present += usize::from(of == set);
            if of != set || present > desired {
                self.cluster.remove(Pod::KIND, &pod);
            }
        }
        if !rejected {
            let uid =
                self.cluster.get(REPLICA_SETS, &set_key).map_or(Value::Null, |set| set["metadata"]["uid"].clone());
            (present..desired).for_each(|_| self.make_pod(&live, &set, &uid));
        }
        let is_controlled = |pod: &&Value| pod["metadata"]["ownerReferences"].is_array();
        let pods: Vec<&Value> = self.cluster.all(Pod::KIND).map(|(_, pod)| pod).filter(is_controlled).collect();
        let ready = pods.iter().filter(|pod| pod["status"]["containerStatuses"][0]["ready"] == true).count();
        let (count, now) = (pods.len(), self.cluster.now);
        let mut conditions = vec![json!({ "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
            "message": format!("ReplicaSet \"{set}\" is progressing."), "lastTransitionTime": now })];
        if rejected && count < desired {
            conditions.push(json!({ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
                "message": "exceeded quota", "lastTransitionTime": now }));
        }
        self.cluster.edit(Deployment::KIND, &self.key.clone(), |live| {
            live["status"] = json!({ "observedGeneration": live["metadata"]["generation"], "replicas": count,
                "updatedReplicas": count, "readyReplicas": ready, "availableReplicas": ready, "conditions": conditions });
        });
    }

    fn make_pod(&mut self, deployment: &Value, set: &str, uid: &Value) {
        self.created += 1;
        let owner =
            json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "uid": uid, "controller": true }]);
        let template = &deployment["spec"]["template"];
        let pod = json!({ "metadata": { "labels": template["metadata"]["labels"], "ownerReferences": owner },
            "spec": template["spec"], "status": { "phase": "Pending" } });
        self.cluster.create(Pod::KIND, &self.key.sibling(&format!("{set}-{}", self.created)), pod);
    }

    pub(super) fn kubelet(&mut self, number: usize, state: State) {
        let pods = self.pods();
        let Some((pod, _)) = pods.get(number % pods.len().max(1)) else { return };
        let now = self.cluster.now;
        let ended = json!({ "terminated": { "reason": "Error", "exitCode": 1, "startedAt": now, "finishedAt": now } });
        self.cluster.edit(Pod::KIND, pod, |pod| {
            let image = pod["spec"]["containers"][0]["image"].clone();
            let restarts = pod["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap_or(0);
            let waits = |reason: &str| json!({ "waiting": { "reason": reason, "message": "why" } });
            let (ready, restarts, state, last) = match state {
                State::Ready => (true, restarts, json!({ "running": { "startedAt": now } }), json!({})),
                State::PullFails => (false, restarts, waits("ImagePullBackOff"), json!({})),
                State::Ended => (false, restarts, ended.clone(), json!({})),
                State::EndsAgain => (false, restarts + 1, waits("CrashLoopBackOff"), ended.clone()),
            };
            pod["status"] = json!({ "phase": "Running", "containerStatuses": [{ "name": "app", "image": image,
                "ready": ready, "restartCount": restarts, "state": state, "lastState": last }] });
        });
    }

    /// The ReplicaSet of that pod releases it: it does not control the pod any more.
    pub(super) fn release(&mut self, number: usize) {
        let pods = self.pods();
        let Some((pod, _)) = pods.get(number % pods.len().max(1)) else { return };
        self.cluster.edit(Pod::KIND, pod, |pod| {
            drop(pod["metadata"].as_object_mut().map(|metadata| metadata.remove("ownerReferences")));
        });
    }

    /// All desired pods become ready, and the stores receive it.
    pub(super) fn calm(&mut self) {
        self.sync(false);
        (0..self.pods().len()).for_each(|pod| self.kubelet(pod, State::Ready));
        self.sync(false);
        self.cluster.deliver_all_events();
    }

    /// The rollout exceeds its deadline, and its controller reports that.
    pub(super) fn time_out(&mut self) {
        self.sync(false);
        self.cluster.deliver_all_events();
        self.cluster.now += 11.seconds();
        let now = self.cluster.now;
        self.cluster.edit(Deployment::KIND, &self.key.clone(), |live| {
            let done = live["status"]["readyReplicas"] == live["status"]["replicas"];
            if let Some(progressing) = live["status"]["conditions"].get_mut(0).filter(|_| !done) {
                progressing["status"] = json!("False");
                progressing["reason"] = json!("ProgressDeadlineExceeded");
                progressing["lastTransitionTime"] = json!(now);
            }
        });
    }
}
