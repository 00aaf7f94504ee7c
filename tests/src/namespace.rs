//! A namespace for one test, and what a test does in it.

use std::fmt::Debug;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1 as core;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::Resource;
use kube::{Api, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::SemaphorePermit;

use crate::cluster::{self, Alone, Shared};
use crate::kubectl::{Answer, kubectl_with};
use crate::patience::Late;
use crate::recording::Recording;
use crate::wait::{DEFAULT_TIMEOUT, InVain, found, try_wait};

/// The label of a namespace in which pods must be restricted, as those of databases, of etcd and of their Jobs are.
pub const RESTRICTED: (&str, &str) = ("pod-security.kubernetes.io/enforce", "restricted");

/// A namespace of its own for one test; deleted when dropped.
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// The test's client.
    pub client: Client,
    turn: Turn,
    held: Option<SemaphorePermit<'static>>,
}

/// Whether other tests may run meanwhile.
enum Turn {
    Shared(#[expect(dead_code, reason = "held")] Shared),
    Alone(#[expect(dead_code, reason = "held")] Alone),
    Changing,
    /// Another namespace of the same test has it.
    Elsewhere,
}

impl Namespace {
    /// Creates one, once the manager is ready.
    pub async fn new(purpose: &str) -> Self {
        Self::labelled(purpose, &[]).await
    }

    /// Creates one with these labels.
    pub async fn labelled(purpose: &str, labels: &[(&str, &str)]) -> Self {
        Self::with_turn(purpose, labels, Turn::Shared(cluster::shared().await)).await
    }

    /// Creates one while no other test runs: for measurements of time.
    pub async fn alone(purpose: &str) -> Self {
        Self::with_turn(purpose, &[], Turn::Alone(cluster::alone().await)).await
    }

    /// From now on, no other test runs.
    pub async fn be_alone(&mut self) {
        // The shared turn has to be given up before one alone can be had.
        self.turn = Turn::Changing;
        self.turn = Turn::Alone(cluster::alone().await);
    }

    /// Creates one on a cluster that need not have the manager: for tests of the cluster itself.
    pub async fn without_manager(purpose: &str) -> Self {
        Self::with_client(cluster::client().await, purpose, &[], Turn::Shared(cluster::shared().await)).await
    }

    /// Creates another one for the same test, with these labels. This one holds the turn for both, so it has to outlive the
    /// other: a test that waited for a second turn could wait for a test that waits for the end of the first.
    pub async fn another(&self, purpose: &str, labels: &[(&str, &str)]) -> Self {
        Self::with_client(self.client.clone(), purpose, labels, Turn::Elsewhere).await
    }

    async fn with_turn(purpose: &str, labels: &[(&str, &str)], turn: Turn) -> Self {
        let client = cluster::client().await;
        cluster::manager_is_ready(&client).await;
        Self::with_client(client, purpose, labels, turn).await
    }

    async fn with_client(client: Client, purpose: &str, labels: &[(&str, &str)], turn: Turn) -> Self {
        // A counter tells namespaces apart that are created in the same microsecond.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_micros();
        let number = since + u128::from(MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("e2e-{purpose}-{:x}", number % (1 << 40));
        let mut namespace = core::Namespace::default();
        namespace.metadata.name = Some(name.clone());
        namespace.metadata.labels =
            Some(labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect());
        let created = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
        created.unwrap_or_else(|error| panic!("the namespace {name} cannot be created: {error}"));
        Self { name, client, turn, held: None }
    }

    /// With something that others wait for as long as it lives.
    #[must_use]
    pub(crate) fn holding(mut self, permit: SemaphorePermit<'static>) -> Self {
        self.held = Some(permit);
        self
    }

    /// Objects of a kind in it.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// kubectl in this namespace.
    pub async fn kubectl(&self, arguments: &[&str]) -> Answer {
        self.kubectl_with("", arguments).await
    }

    /// kubectl in this namespace, with that on its standard input.
    pub async fn kubectl_with(&self, input: &str, arguments: &[&str]) -> Answer {
        kubectl_with(input, &[&["--namespace", self.name.as_str()], arguments].concat()).await
    }

    /// Applies a manifest, as a user does.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn apply(&self, manifest: &str) {
        drop(self.kubectl_with(manifest, &["apply", "--filename", "-"]).await.ok());
    }

    /// Merges this into an object, as `kubectl patch` does: `null` takes a field away.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn patch(&self, object: &str, patch: &serde_json::Value) {
        drop(self.kubectl(&["patch", object, "--type=merge", "--patch", &patch.to_string()]).await.ok());
    }

    /// Watches an object until `judge` returns a value.
    ///
    /// # Panics
    /// When the time is up, with everything known about the object.
    pub async fn until<K, T>(&self, name: &str, what: &str, judge: impl FnMut(Option<&K>) -> Option<T>) -> T
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        self.until_within(DEFAULT_TIMEOUT, name, what, judge).await
    }

    /// The same, for what takes longer: so much normal time at most.
    ///
    /// # Panics
    /// When the time is up, with all there is to know.
    pub async fn until_within<K, T>(
        &self,
        limit: Duration,
        name: &str,
        what: &str,
        judge: impl FnMut(Option<&K>) -> Option<T>,
    ) -> T
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        match found(&self.api::<K>(), name, limit, judge).await {
            Ok(found) => found,
            Err(InVain { late, last }) => {
                let last = last.map_or_else(|| format!("(there is no {} {name})", K::kind(&())), |last| yaml(&last));
                self.give_up(what, late, &last).await
            }
        }
    }

    /// Calls `ask` until it returns `Ok`; an `Err` says what is still missing.
    ///
    /// # Panics
    /// When the time is up, with everything known about the namespace.
    pub async fn eventually<T, F>(&self, what: &str, ask: impl FnMut() -> F) -> T
    where
        F: Future<Output = Result<T, String>>,
    {
        match try_wait(DEFAULT_TIMEOUT, ask).await {
            Ok(found) => found,
            Err(InVain { late, last }) => self.give_up(what, late, &last).await,
        }
    }

    /// Waits until an object is absent.
    pub async fn until_deleted<K>(&self, name: &str)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        let what = format!("the {} {name} to be deleted", K::kind(&()));
        self.until::<K, ()>(name, &what, |seen| seen.is_none().then_some(())).await;
    }

    /// Waits until nothing is left of a kind, by the name that kubectl knows it by.
    pub async fn until_none(&self, kind: &str) {
        self.eventually(&format!("no {kind}"), || async {
            let left = self.kubectl(&["get", kind, "--output=name"]).await.ok();
            if left.trim().is_empty() { Ok(()) } else { Err(left) }
        })
        .await;
    }

    /// Records all that an object is from now on.
    pub async fn record<K>(&self, name: &str) -> Recording<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned + Send + 'static,
    {
        Recording::start(self.api(), name).await
    }

    /// The object, which must be there.
    ///
    /// # Panics
    /// If it is not.
    pub async fn get<K>(&self, name: &str) -> K
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().get(name).await.unwrap_or_else(|error| panic!("{} {name}: {error}", K::kind(&())))
    }

    /// What a pod answers on one of its ports, through the API server.
    ///
    /// # Errors
    /// A message.
    pub async fn proxied(&self, pod: &str, port: u16, path: &str) -> Result<String, String> {
        let url = format!("/api/v1/namespaces/{}/pods/{pod}:{port}/proxy/{path}", self.name);
        let request = http::Request::get(&url).body(Vec::new()).map_err(|error| error.to_string())?;
        self.client.request_text(request).await.map_err(|error| error.to_string())
    }

    async fn give_up(&self, what: &str, late: Late, last: &str) -> ! {
        let around = self.around().await;
        panic!("{what}: {late} in vain; last seen:\n{last}\n{around}")
    }

    /// Pods and events of the namespace, and what the manager and etcd logged of it.
    pub async fn around(&self) -> String {
        let mut text = format!("--- namespace {}\n", self.name);
        let kinds = "myapps,samples,etcdclusters,etcdbackups,etcdrestores,sampledbs,sampledbsnapshots,deployments,replicasets,jobs,pods,persistentvolumeclaims";
        text.push_str(&self.kubectl(&["get", kinds, "--output=wide"]).await.stdout);
        let events: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.name, &event());
        match events.list(&ListParams::default()).await {
            Ok(events) => events.items.iter().for_each(|event| {
                let (of, data) = (&event.data["involvedObject"], &event.data);
                let said = format!("{}/{}: {} {}", of["kind"], of["name"], data["reason"], data["message"]);
                text.push_str(&format!("event {}\n", said.replace('"', "")));
            }),
            Err(error) => text.push_str(&format!("(no events: {error})\n")),
        }
        text.push_str("--- the manager's log\n");
        let log = cluster::manager_log(2000).await;
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&self.name)).collect();
        text.push_str(&lines[lines.len().saturating_sub(30)..].join("\n"));
        let logs = ["logs", "--selector=app=etcd", "--all-containers", "--prefix", "--ignore-errors", "--tail=8"];
        let logs = self.kubectl(&logs).await;
        if logs.stdout.is_empty() { text } else { format!("{text}\n--- the members' logs\n{}", logs.stdout) }
    }
}

/// As kubectl shows it, without what only servers read.
fn yaml(object: &impl Serialize) -> String {
    let mut object = serde_json::to_value(object).unwrap_or_default();
    if let Some(meta) = object.get_mut("metadata").and_then(serde_json::Value::as_object_mut) {
        meta.remove("managedFields");
    }
    serde_yaml_ng::to_string(&object).unwrap_or_else(|error| error.to_string())
}

fn event() -> kube::api::ApiResource {
    kube::api::ApiResource::erase::<core::Event>(&())
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Not waited for: its end is nothing that a test is about.
        let delete = std::process::Command::new("kubectl")
            .args(["delete", "namespace", &self.name, "--wait=false"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if let Err(error) = delete {
            eprintln!("the namespace {} is left: {error}", self.name);
        }
    }
}
