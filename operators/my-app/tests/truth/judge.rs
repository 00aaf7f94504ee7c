//! Whether a status is true, by the objects alone.

use serde_json::Value;

/// A status that was written, and what it could be judged by.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The MyApp as the pass saw it, its status from before included.
    pub app: Value,
    /// What was written.
    pub status: Value,
    /// The children and pods as the stores showed them, or as this pass has written them.
    pub deployment: Option<Value>,
    pub service: Option<Value>,
    pub budget: Option<Value>,
    pub pods: Vec<Value>,
    /// Whether this pass has written the Deployment, so that what its controller says is of before.
    pub wrote_deployment: bool,
    /// The ReplicaSet of the Deployment's template.
    pub replica_set: String,
    /// Whether an object that is not this MyApp's bears the name of a child.
    pub name_taken: bool,
}

fn condition<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn is_true(status: &Value, type_: &str) -> bool {
    condition(status, type_).is_some_and(|condition| condition["status"] == "True")
}

impl Sample {
    /// Whether there is anything to judge.
    pub fn says_something(&self) -> bool {
        is_true(&self.status, "Ready") || is_true(&self.status, "Stalled")
    }

    fn wanted(&self) -> i64 {
        let live = self.deployment.as_ref().and_then(|live| live["spec"]["replicas"].as_i64());
        self.app["spec"]["replicas"].as_i64().or(live).unwrap_or(1)
    }

    fn says(&self, number: &str) -> i64 {
        self.deployment.as_ref().and_then(|live| live["status"][number].as_i64()).unwrap_or(0)
    }

    /// Whether the Deployment's controller speaks of the Deployment as it is.
    fn is_observed(&self) -> bool {
        let generation = self.deployment.as_ref().and_then(|live| live["metadata"]["generation"].as_i64());
        !self.wrote_deployment && generation.is_some_and(|generation| self.says("observedGeneration") >= generation)
    }

    /// Whether all pods asked for, and no others, are there, of the present template, and ready.
    fn is_complete(&self) -> bool {
        self.is_observed()
            && ["replicas", "updatedReplicas", "readyReplicas"].iter().all(|of| self.says(of) == self.wanted())
    }

    /// Whether no pods are asked for, and none were ever reported.
    fn never_had_pods(&self) -> bool {
        self.wanted() == 0 && self.app["status"]["replicas"].as_i64().unwrap_or(0) == 0 && self.says("replicas") == 0
    }

    fn present_pods(&self) -> impl Iterator<Item = &Value> {
        self.pods.iter().filter(|pod| pod["metadata"]["ownerReferences"][0]["name"] == *self.replica_set)
    }

    fn failure(&self, type_: &str, status: &str, reason: &str) -> bool {
        let said = self.deployment.as_ref().and_then(|live| condition(&live["status"], type_));
        said.is_some_and(|said| said["status"] == status && said["reason"] == reason)
    }
}

fn container(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

fn waits_for(pod: &Value, reasons: &[&str]) -> bool {
    let reason = container(pod)["state"]["waiting"]["reason"].as_str().unwrap_or_default();
    reasons.contains(&reason)
}

fn keeps_ending(pod: &Value) -> bool {
    let ended = container(pod)["state"]["waiting"].is_object() || container(pod)["state"]["terminated"].is_object();
    container(pod)["restartCount"].as_i64().unwrap_or(0) >= 1 && ended && container(pod)["ready"] != true
}

/// The reason that is given, if it is true; else what is false.
pub fn judge(sample: &Sample) -> Result<String, String> {
    let (status, generation) = (&sample.status, &sample.app["metadata"]["generation"]);
    let wrong = |why: &str| Err(format!("{why}: {sample:#?}"));
    if status["observedGeneration"] != *generation {
        return wrong("the generation is not the one that was seen");
    }
    let type_ = if is_true(status, "Ready") { "Ready" } else { "Stalled" };
    let said = condition(status, type_).expect("it is true");
    if said["observedGeneration"] != *generation {
        return wrong("the condition is of another generation");
    }
    let reason = said["reason"].as_str().unwrap_or_default();
    let held = if type_ == "Ready" { ready(sample) } else { stalled(sample, reason) };
    held.map_or_else(|why| wrong(&format!("{type_}=True {reason}, but {why}")), |()| Ok(reason.to_owned()))
}

fn ensure(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

fn ready(sample: &Sample) -> Result<(), String> {
    let spec = &sample.app["spec"];
    for other in ["Reconciling", "Stalled"] {
        ensure(!is_true(&sample.status, other), "another condition is True as well")?;
    }
    let live = sample.deployment.as_ref().ok_or("there is no Deployment")?;
    ensure(live["metadata"]["deletionTimestamp"].is_null(), "the Deployment is going")?;
    ensure(sample.is_complete() || sample.never_had_pods(), "the Deployment's numbers are others")?;
    ensure(
        spec["replicas"].is_null() || live["spec"]["replicas"] == spec["replicas"],
        "another number of pods is set",
    )?;
    ensure(live["spec"]["template"]["spec"]["containers"][0]["image"] == spec["image"], "it is another image")?;
    let port = sample.service.as_ref().map(|service| &service["spec"]["ports"][0]["port"]).unwrap_or(&Value::Null);
    ensure(*port == spec["port"], "the Service is not as asked")?;
    ensure(sample.budget.is_some() != spec["disruptionBudget"].is_null(), "the budget is not as asked")?;
    let before = &sample.app["status"];
    let said = is_true(before, "Ready") && before["observedGeneration"] == sample.app["metadata"]["generation"];
    let troubled = |pod: &Value| container(pod)["state"]["waiting"].is_object() || keeps_ending(pod);
    ensure(said || !sample.present_pods().any(troubled), "a pod is seen in trouble")
}

fn stalled(sample: &Sample, reason: &str) -> Result<(), String> {
    ensure(!is_true(&sample.status, "Ready"), "it is Ready, too")?;
    let exceeded = || sample.failure("Progressing", "False", "ProgressDeadlineExceeded");
    match reason {
        "NameTaken" => return ensure(sample.name_taken, "all names are this MyApp's"),
        "RolledBack" => {
            let asked = &sample.app["spec"]["image"];
            ensure(sample.status["rolledBackFrom"]["image"] == *asked, "another image is asked for by now")?;
            ensure(sample.app["spec"]["rollback"] == "Automatic", "no rollback is asked for")?;
            return ensure(!sample.app["status"]["rolledBackFrom"].is_null() || exceeded(), "no deadline has passed");
        }
        _ => {}
    }
    ensure(sample.is_observed(), "the Deployment has yet to be looked at by its controller")?;
    ensure(!sample.is_complete(), "all pods are ready")?;
    match reason {
        "ImagePullBackOff" => ensure(
            sample.present_pods().any(|pod| waits_for(pod, &["ImagePullBackOff", "ErrImagePull"])),
            "no pod of this template waits for its image",
        ),
        "CrashLoopBackOff" => ensure(sample.present_pods().any(keeps_ending), "no pod of this template keeps ending"),
        "FailedCreate" => {
            ensure(sample.failure("ReplicaFailure", "True", "FailedCreate"), "no pod is refused")?;
            ensure(sample.says("updatedReplicas") < sample.wanted(), "all pods of this template are there")
        }
        "ProgressDeadlineExceeded" => ensure(exceeded(), "no deadline has passed"),
        _ => Err("these rules do not know the reason".to_owned()),
    }
}
