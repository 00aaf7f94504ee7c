//! Argo CD, as a person with git, kubectl and its own command line uses it.
//!
//! `scripts/argocd up --local` puts it on the first of three clusters, one an environment, and gives it a git repository with
//! this checkout's manifests; `scripts/argocd env` says where all that is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::kubectl::{Answer, kubectl, kubectl_with, run};
use crate::wait::wait_until;

mod git;
mod reads;
mod recorder;
mod turns;

pub use git::Git;
pub use reads::{application, applications, read};
pub use recorder::{Recorder, Seen};
pub use turns::{everything, one_environment, read_only};

/// Where Argo CD's own objects are.
const NAMESPACE: &str = "argocd";
/// Our ApplicationSet.
const SET: &str = "multi-operator";
/// How long a step may take: a busy machine with two cores runs three clusters.
pub const SYNC_TIMEOUT: Duration = Duration::from_secs(300);
/// In the order in which a change reaches them.
pub const APPLICATIONS: [&str; 8] = [
    "dev-operator",
    "dev-instances",
    "staging-crds",
    "staging-operator",
    "staging-instances",
    "production-crds",
    "production-operator",
    "production-instances",
];

/// One cluster, and a namespace with the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// What changes reach first.
    Dev,
    /// What production will run.
    Staging,
    /// The last one.
    Production,
}

impl Environment {
    /// All of them, in the order in which changes reach them.
    #[must_use]
    pub fn all() -> [Self; 3] {
        [Self::Dev, Self::Staging, Self::Production]
    }

    /// Its name, and that of the namespace with its custom resources.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Staging => "staging",
            Self::Production => "production",
        }
    }

    /// kubectl on its cluster.
    pub async fn kubectl(self, arguments: &[&str]) -> Answer {
        let kubeconfig = format!("--kubeconfig={}", variable(&format!("GITOPS_{}", self.name().to_uppercase())));
        kubectl(&[&[kubeconfig.as_str()], arguments].concat()).await
    }

    /// Merges this into an object, by hand.
    pub async fn patch(self, object: &str, namespace: &str, patch: &Value) {
        let patch = format!("--patch={patch}");
        drop(self.kubectl(&["patch", object, "--namespace", namespace, "--type=merge", &patch]).await.ok());
    }
}

/// What `scripts/argocd env` has set.
///
/// # Panics
/// If it has not.
#[must_use]
pub fn variable(name: &str) -> String {
    let name = format!("MULTI_OPERATOR_{name}");
    std::env::var(&name).ok().filter(|value| !value.is_empty()).unwrap_or_else(|| {
        panic!(
            "{name} is not set: these tests need Argo CD (scripts/argocd up --local; eval \"$(scripts/argocd env)\")"
        )
    })
}

/// Whether our ApplicationSet is there already.
pub async fn is_there() -> bool {
    let get = ["get", "applicationset", SET, "--namespace", NAMESPACE, "--ignore-not-found", "--output=name"];
    !kubectl(&get).await.ok().trim().is_empty()
}

/// Applies kustomize/argocd as a user with another repository does: by a kustomization around it.
pub async fn apply_repository() {
    let work = Scratch::new("argocd");
    let repository = std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../kustomize/argocd"));
    let up = "../".repeat(work.0.components().count() - 1);
    let repository =
        format!("{up}{}", repository.expect("kustomize/argocd is there").display().to_string().trim_start_matches('/'));
    let url = format!("file://{}", variable("GIT"));
    let kustomization = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\n\
         kind: Kustomization\n\
         resources: [{repository}/projects, {repository}/applicationsets]\n\
         patches:\n\
         - target: {{kind: AppProject}}\n  patch: |-\n    - {{op: replace, path: /spec/sourceRepos/0, value: '{url}'}}\n\
         - target: {{kind: ApplicationSet}}\n  patch: |-\n    - {{op: replace, path: /spec/template/spec/source/repoURL, value: '{url}'}}\n"
    );
    std::fs::write(work.0.join("kustomization.yaml"), kustomization).expect("a file can be written");
    let directory = work.0.to_str().expect("the path is text");
    drop(kubectl(&["apply", "--server-side", "--force-conflicts", "--kustomize", directory]).await.ok());
}

/// Merges this into our ApplicationSet.
pub async fn patch_set(patch: &Value) {
    let patch = format!("--patch={patch}");
    let line = ["patch", "applicationset", SET, "--namespace", NAMESPACE, "--type=merge", &patch];
    drop(kubectl(&line).await.ok());
}

/// Takes an Application out of our ApplicationSet, which then deletes it; [`apply_repository`] puts it back.
pub async fn take_out(environment: &str, layer: &str) {
    let mut set = read("applicationset", SET).await.expect("the ApplicationSet is there");
    let list = &mut set["spec"]["generators"][0]["matrix"]["generators"][0]["list"]["elements"];
    let elements = list.as_array_mut().expect("it has a list");
    let before = elements.len();
    elements.retain(|one| one["environment"] != environment || one["layer"] != layer);
    assert_eq!(elements.len() + 1, before, "{elements:?}");
    patch_set(&json!({ "spec": { "generators": set["spec"]["generators"] } })).await;
}

/// Applies an object among Argo CD's.
pub async fn apply(object: &Value) {
    let line = ["apply", "--server-side", "--force-conflicts", "--namespace", NAMESPACE, "--filename", "-"];
    drop(kubectl_with(&object.to_string(), &line).await.ok());
}

/// Has Argo CD compare an Application with git now, and not when its turn comes; `hard` forgets what is in its caches.
pub async fn refresh(name: &str, hard: bool) {
    let annotation = format!("argocd.argoproj.io/refresh={}", if hard { "hard" } else { "normal" });
    let line = ["annotate", "application", name, "--namespace", NAMESPACE, "--overwrite", &annotation];
    drop(kubectl(&line).await.ok());
}

/// Refreshes these Applications, and waits until Argo CD has compared them again.
pub async fn compared(names: &[&str]) {
    let before = applications().await;
    for name in names {
        refresh(name, true).await;
    }
    wait_until("Argo CD to compare", SYNC_TIMEOUT, || async {
        let now = applications().await;
        let old = names.iter().find(|name| {
            let at = |of: &BTreeMap<String, Value>| of.get(**name).map(|app| app["status"]["reconciledAt"].clone());
            at(&before) == at(&now) || !now[**name]["metadata"]["annotations"]["argocd.argoproj.io/refresh"].is_null()
        });
        old.map_or(Ok(()), |name| Err(format!("{name} was not compared yet")))
    })
    .await;
}

/// Waits until these are Synced and Healthy, at this revision if one is given.
pub async fn are_healthy(names: &[&str], revision: Option<&str>) {
    are_healthy_within(names, revision, SYNC_TIMEOUT).await;
}

/// The same, with another time limit.
pub async fn are_healthy_within(names: &[&str], revision: Option<&str>, patience: Duration) {
    wait_until(&format!("{names:?} to be Synced and Healthy"), patience, || async {
        let now = applications().await;
        let ill = names.iter().find_map(|name| {
            let Some(app) = now.get(*name) else { return Some(format!("{name} is not there")) };
            let (sync, health) = (&app["status"]["sync"], &app["status"]["health"]["status"]);
            let there = revision.is_none_or(|revision| sync["revision"] == revision);
            let idle = app["operation"].is_null() && app["status"]["operationState"]["phase"] != "Running";
            let healthy_now = sync["status"] == "Synced" && health == "Healthy" && there && idle;
            (!healthy_now).then(|| format!("{name}: {sync} {health}; {}", not_ready(app)))
        });
        ill.map_or(Ok(()), Err)
    })
    .await;
}

/// What differs from Synced and Healthy in an Application, as text.
#[must_use]
pub fn not_ready(app: &Value) -> String {
    let ill = resources(app)
        .iter()
        .filter(|one| one["status"] != "Synced" || (!one["health"].is_null() && one["health"]["status"] != "Healthy"));
    let ill: Vec<_> =
        ill.map(|one| format!("{}/{} {} {}", one["kind"], one["name"], one["status"], one["health"])).collect();
    let operation = &app["status"]["operationState"];
    format!("{}; {} {}; {}", ill.join(", "), operation["phase"], operation["message"], app["status"]["conditions"])
}

/// What an Application has synced, by its status.
#[must_use]
pub fn resources(app: &Value) -> &[Value] {
    app["status"]["resources"].as_array().map_or(&[], Vec::as_slice)
}

/// One of these, by kind and name.
#[must_use]
pub fn resource<'a>(app: &'a Value, kind: &str, name: &str) -> Option<&'a Value> {
    resources(app).iter().find(|one| one["kind"] == kind && one["name"] == name)
}

/// Argo CD's own command line, by its API server.
pub async fn argocd(arguments: &[&str]) -> Answer {
    let server = variable("ARGOCD");
    run("", "argocd", &[&["--server", server.as_str(), "--plaintext"], arguments].concat()).await
}

/// Sets one of Argo CD's settings; `null` takes it away.
pub async fn configure(key: &str, value: Option<&str>) {
    let patch = format!("--patch={}", json!({ "data": { key: value } }));
    let line = ["patch", "configmap", "argocd-cm", "--namespace", NAMESPACE, "--type=merge", &patch];
    drop(kubectl(&line).await.ok());
}

/// Deletes an Application and leaves all that it has synced, as `argocd app delete --cascade=false` does.
pub async fn release(name: &str) {
    drop(argocd(&["app", "delete", name, "--cascade=false", "--yes"]).await.ok());
    wait_until(&format!("{name} to be deleted"), SYNC_TIMEOUT, || async {
        if read("application", name).await.is_none() { Ok(()) } else { Err("it is there".to_owned()) }
    })
    .await;
}

/// A value as text; empty if it is none.
#[must_use]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A temporary directory, removed when dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(purpose: &str) -> Self {
        static MADE: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("e2e-{purpose}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory can be created");
        Self(std::fs::canonicalize(directory).expect("it is there"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
