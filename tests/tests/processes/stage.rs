//! Where a test plays: a namespace of its own, and what tests do in it.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use api::my_app::MyApp;
use api::sample::Sample;
use e2e::call::{Call, lines};
use e2e::objects::ManagedKind;
use e2e::patience::{Bar, Deadline, Moment};
use e2e::process::install::apply;
use e2e::process::{Install, Launch, Manager};
use e2e::proxy::Proxy;
use e2e::wait::{InVain, found, try_wait};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::Resource;
use kube::{Api, Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::sleep;

pub use e2e::process::Failure;

/// The default time limit: long for what takes well under a second, since two cores carry ten tests and a cluster.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a manager that has settled has written nothing.
const QUIET: Duration = Duration::from_secs(1);
/// Kinds that all controllers together watch, those apart that a cluster may do without.
pub const KINDS: usize = 17;

/// A namespace of its own for one test.
#[derive(Clone)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// The client of the person who runs the tests.
    pub client: Client,
}

/// The client of the person who runs the tests.
pub async fn client() -> Result<Client, Failure> {
    match std::env::var_os("KUBECONFIG") {
        Some(path) if !path.is_empty() => Ok(Client::try_default().await?),
        _ => Err("these tests need a cluster: run scripts/test, or point KUBECONFIG at one".into()),
    }
}

/// Where managers' logs are.
pub fn logs() -> String {
    std::env::temp_dir().join("multi-operator-e2e").join(std::process::id().to_string()).display().to_string()
}

impl Stage {
    /// Creates one.
    pub async fn new(purpose: &str) -> Result<Self, Failure> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("{:x}-{:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self { name: format!("processes-{purpose}-{unique}"), client: client().await? }.create().await
    }

    /// Another namespace for the same test.
    pub async fn another(&self, purpose: &str) -> Result<Self, Failure> {
        Self { name: format!("{}-{purpose}", self.name), client: self.client.clone() }.create().await
    }

    async fn create(self) -> Result<Self, Failure> {
        apply(
            &self.client,
            None,
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": self.name } }),
        )
        .await?;
        Ok(self)
    }

    /// Deletes it, without waiting, and its siblings.
    pub async fn clear(&self) -> Result<(), Failure> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        for namespace in namespaces.list_metadata(&ListParams::default()).await? {
            let name = namespace.name_any();
            if name == self.name || name.starts_with(&format!("{}-", self.name)) {
                namespaces.delete(&name, &DeleteParams::background()).await?;
            }
        }
        Ok(())
    }

    /// An install that watches this namespace.
    pub async fn install(&self) -> Result<Install, Failure> {
        Install::new(&self.client, &self.name).await
    }

    /// A proxy for one manager of `install`.
    pub async fn proxy(&self, install: &Install) -> Result<Proxy, Failure> {
        Proxy::start(install.config().await?).await
    }

    /// A manager that leads, behind that proxy.
    pub async fn leader(&self, install: &Install, proxy: &Proxy) -> Result<Manager, Failure> {
        let mut manager = Launch::default().through(proxy).start(install)?;
        manager.leads(DEFAULT_TIMEOUT).await?;
        Ok(manager)
    }

    /// Objects of a kind.
    pub fn api<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Applies a Sample.
    pub async fn sample(&self, name: &str, string: &str) -> Result<(), Failure> {
        let sample = json!({ "apiVersion": "example.com/v1alpha1", "kind": "Sample", "metadata": { "name": name },
                             "testString": string });
        apply(&self.client, Some(&self.name), sample).await
    }

    /// Applies a MyApp with a Service and a disruption budget, of no pods: everything about it but an image to pull.
    pub async fn app(&self, name: &str) -> Result<(), Failure> {
        let spec =
            json!({ "image": "nginx:1.25", "replicas": 0, "port": 80, "disruptionBudget": { "maxUnavailable": 1 } });
        self.app_of(name, spec).await
    }

    /// Applies a MyApp of that spec.
    pub async fn app_of(&self, name: &str, spec: serde_json::Value) -> Result<(), Failure> {
        let app =
            json!({ "apiVersion": "example.com/v1", "kind": "MyApp", "metadata": { "name": name }, "spec": spec });
        apply(&self.client, Some(&self.name), app).await
    }

    /// Watches an object until `judge` returns a value; an error has the last state.
    pub async fn until<K, T>(
        &self,
        name: &str,
        what: &str,
        limit: Duration,
        judge: impl FnMut(Option<&K>) -> Option<T>,
    ) -> Result<T, Failure>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        found(&self.api::<K>(), name, limit, judge).await.map_err(|InVain { late, last }| {
            let last = last.map_or_else(|| "nothing".to_owned(), |last| json!(last).to_string());
            format!("{} {name}: {what}: {late} in vain; last seen: {last}", K::kind(&())).into()
        })
    }

    /// Waits until the Sample is done, its ConfigMap holding its string.
    pub async fn sample_kept(&self, name: &str, string: &str, limit: Duration) -> Result<(), Failure> {
        let deadline = Deadline::after(limit);
        self.until::<Sample, _>(name, "Ready", limit, |sample| sample?.is_ready().then_some(())).await?;
        self.until::<ConfigMap, _>(name, "holds the string", deadline.left(), |kept| {
            (kept?.data.as_ref()?.get("testString")? == string).then_some(())
        })
        .await
    }

    /// Waits until the MyApp is done.
    pub async fn app_ready(&self, name: &str, limit: Duration) -> Result<(), Failure> {
        self.until::<MyApp, _>(name, "Ready", limit, |app| app?.is_ready().then_some(())).await
    }

    /// Waits for a condition of one of this project's kinds; returns its reason and message.
    pub async fn condition<K>(&self, name: &str, type_: &str, limit: Duration) -> Result<(String, String), Failure>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + ManagedKind,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        self.until::<K, _>(name, type_, limit, |object| {
            let condition = object?.contract()?.condition(type_)?;
            Some((condition.reason.to_string(), condition.message.clone()))
        })
        .await
    }

    /// Merges this into an object.
    pub async fn merge<K>(&self, name: &str, patch: serde_json::Value) -> Result<(), Failure>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Deletes an object.
    pub async fn delete<K>(&self, name: &str) -> Result<(), Failure>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        self.api::<K>().delete(name, &DeleteParams::background()).await?;
        Ok(())
    }

    /// How many objects of a kind bear our label.
    pub async fn children<K>(&self) -> Result<usize, Failure>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let owned = ListParams::default().labels("app.kubernetes.io/managed-by=multi-operator");
        Ok(self.api::<K>().list(&owned).await?.items.len())
    }
}

/// Polls `ask` until it returns `Ok`; an `Err` says what is still missing.
pub async fn eventually<T, F>(what: &str, limit: Duration, ask: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, String>>,
{
    try_wait(limit, ask).await.map_err(|in_vain| format!("{what}: {in_vain}").into())
}

/// Waits until nothing more comes through a proxy that writes to objects: for a while, in normal time.
pub async fn settled(proxy: &Proxy) -> Result<(), Failure> {
    let (deadline, mut seen, mut since) = (Deadline::after(DEFAULT_TIMEOUT), usize::MAX, Moment::now());
    loop {
        let all = writes(&proxy.journal());
        if seen != all.len() {
            (seen, since) = (all.len(), Moment::now());
        }
        if since.passed().normal >= QUIET {
            return Ok(());
        }
        ensure(!deadline.is_over(), || format!("the manager keeps writing: {}:\n{}", deadline.late(), lines(&all)))?;
        sleep(QUIET / 10).await;
    }
}

/// Fails unless something took no longer than the bar allows, on a machine as slow as this one was since `begun`.
pub fn within(bar: Bar, what: &str, took: Duration, begun: Moment) -> Result<(), Failure> {
    Ok(bar.holds(what, took, begun.passed().slowness())?)
}

/// Fails with `why` unless it holds.
pub fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(why().into()) }
}

/// Those that write to objects.
pub fn writes(calls: &[Call]) -> Vec<Call> {
    calls.iter().filter(|call| call.is_write()).cloned().collect()
}

/// Fails if there are any calls.
pub fn none(calls: &[Call], what: &str) -> Result<(), Failure> {
    ensure(calls.is_empty(), || format!("{} {what}:\n{}", calls.len(), lines(calls)))
}
