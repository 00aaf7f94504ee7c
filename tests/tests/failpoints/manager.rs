//! The manager, one life after the other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use e2e::cluster::{MANAGER, SYSTEM, scale_manager};
use e2e::wait::wait_until;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{EnvVar, Pod};
use kube::api::{DeleteParams, LogParams, PostParams};
use kube::{Api, Client, ResourceExt};

/// What every life bears.
const LIFE: &str = "e2e.example.com/life";
/// How long a manager may take to end on request.
const END: Duration = Duration::from_secs(60);

/// The manager as pods of which each lives once: its Deployment would restart it at once, with the same environment, and it would
/// continue before the test has seen the crash. Two never run at a time, so none waits for the Lease. When dropped, the
/// Deployment is restored.
pub struct Manager {
    client: Client,
    deployments: Api<Deployment>,
    pods: Api<Pod>,
    life: Mutex<Option<String>>,
}

impl Manager {
    pub fn new(client: &Client) -> Self {
        Self {
            client: client.clone(),
            deployments: Api::namespaced(client.clone(), SYSTEM),
            pods: Api::namespaced(client.clone(), SYSTEM),
            life: Mutex::new(None),
        }
    }

    /// Begins a life that ends after the first effect whose debug text contains this, or with the next if it is empty;
    /// the one before is over.
    pub async fn lives_until(&self, effect: &str) {
        static LIVES: AtomicUsize = AtomicUsize::new(0);
        self.rests().await;
        let name = format!("{MANAGER}-{}-{}", std::process::id(), LIVES.fetch_add(1, Ordering::Relaxed));
        let deployment = self.deployments.get(MANAGER).await.expect("the manager's Deployment can be read");
        let template = deployment.spec.map(|spec| spec.template).expect("a Deployment has a spec");
        let mut pod = Pod { metadata: template.metadata.unwrap_or_default(), spec: template.spec, ..Pod::default() };
        pod.metadata.name = Some(name.clone());
        pod.labels_mut().insert(LIFE.to_owned(), "one".to_owned());
        let spec = pod.spec.as_mut().expect("a template has a spec");
        spec.restart_policy = Some("Never".to_owned());
        let variable =
            |name: &str, value: &str| EnvVar { name: name.into(), value: Some(value.into()), value_from: None };
        for container in &mut spec.containers {
            let env = container.env.get_or_insert_default();
            env.extend([variable("FAILPOINT", effect), variable("NO_LEADER_ELECTION", "true")]);
        }
        let created = self.pods.create(&PostParams::default(), &pod).await;
        created.unwrap_or_else(|error| panic!("the manager cannot be started: {error}"));
        *self.life.lock().expect("no test has panicked here") = Some(name);
    }

    /// Ends the life, if there is one.
    pub async fn rests(&self) {
        scale_manager(&self.client, 0).await;
        let Some(life) = self.life.lock().expect("no test has panicked here").take() else { return };
        let dead = self.pods.get_opt(&life).await.ok().flatten().is_some_and(|pod| has_ended(&pod));
        let how = DeleteParams { grace_period_seconds: dead.then_some(0), ..DeleteParams::default() };
        self.pods.delete(&life, &how).await.expect("the manager's pod can be deleted");
        if dead {
            return;
        }
        wait_until("the manager's life to end", END, || async {
            match self.pods.get_opt(&life).await {
                Ok(None) => Ok(()),
                Ok(Some(pod)) => Err(format!("{:?}", pod.status)),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }

    async fn pod(&self) -> Option<Pod> {
        let life = self.life.lock().expect("no test has panicked here").clone()?;
        self.pods.get_opt(&life).await.ok().flatten()
    }

    /// Whether this life is over.
    ///
    /// # Panics
    /// If something else has ended it than its failpoint.
    pub async fn is_dead(&self) -> bool {
        let Some(pod) = self.pod().await.filter(has_ended) else { return false };
        let end = LogParams { tail_lines: Some(20), ..LogParams::default() };
        let log = self.pods.logs(&pod.name_any(), &end).await.unwrap_or_else(|error| error.to_string());
        assert!(log.contains("the failpoint is reached"), "the manager died of something else:\n{log}");
        true
    }

    /// Whether this life serves.
    pub async fn serves(&self) -> bool {
        self.pod().await.is_some_and(|pod| e2e::objects::serves(&pod))
    }

    /// What it logged last in this life.
    pub async fn log(&self) -> String {
        let Some(pod) = self.pod().await else { return "(no life)".to_owned() };
        let end = LogParams { tail_lines: Some(30), ..LogParams::default() };
        self.pods.logs(&pod.name_any(), &end).await.unwrap_or_else(|error| error.to_string())
    }
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

impl Drop for Manager {
    fn drop(&mut self) {
        let selector = format!("--selector={LIFE}");
        let object = format!("deployment/{MANAGER}");
        for arguments in [&["delete", "pods", &selector][..], &["scale", &object, "--replicas=1"]] {
            let done = std::process::Command::new("kubectl")
                .args(["--namespace", SYSTEM])
                .args(arguments)
                .stdout(std::process::Stdio::null())
                .status();
            if !done.as_ref().is_ok_and(std::process::ExitStatus::success) {
                eprintln!("the manager is left with a failpoint: {arguments:?}: {done:?}");
            }
        }
    }
}
