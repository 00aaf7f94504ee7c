//! A SampleDB in a test's namespace, as a person with kubectl sees it.

use api::sample_db::SampleDB;
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotPhase, VerificationPhase};
use api::{ConditionStatus, Contract};
use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

use crate::namespace::Namespace;
use crate::objects::Ours;

impl Ours for SampleDB {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

impl Ours for SampleDBSnapshot {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

/// One SampleDB.
#[derive(Clone, Copy)]
pub struct Database<'a> {
    /// Where it is.
    pub ns: &'a Namespace,
    /// Its name.
    pub name: &'a str,
}

/// A namespace in which pods must be restricted: those of databases and of their Jobs are.
pub async fn namespace(purpose: &str) -> Namespace {
    Namespace::labelled(purpose, &[("pod-security.kubernetes.io/enforce", "restricted")]).await
}

impl<'a> Database<'a> {
    /// Applies one with that spec, in YAML's short form.
    pub async fn apply(ns: &'a Namespace, name: &'a str, spec: &str) -> Self {
        let head = "apiVersion: example.com/v1alpha1\nkind: SampleDB";
        ns.apply(&format!("{head}\nmetadata:\n  name: {name}\nspec: {spec}\n")).await;
        Self { ns, name }
    }

    /// Waits until it is Ready.
    pub async fn serves(&self) -> SampleDB {
        self.ns
            .until::<SampleDB, SampleDB>(self.name, "a database that serves", |db| {
                db.filter(|db| db.is_ready()).cloned()
            })
            .await
    }

    /// Waits until a condition has that status and reason; returns its message.
    pub async fn says(&self, type_: &str, status: ConditionStatus, reason: &str) -> String {
        let what = format!("{type_} to be {status:?}, {reason}");
        self.ns
            .until::<SampleDB, String>(self.name, &what, |db| {
                let found = db?.condition(type_)?;
                ((found.status, &*found.reason) == (status, reason)).then(|| found.message.clone())
            })
            .await
    }

    /// Merges this into its spec, as `kubectl patch` does.
    pub async fn patch(&self, spec: Value) {
        self.ns.patch(&format!("sampledb/{}", self.name), &serde_json::json!({ "spec": spec })).await;
    }

    /// What psql prints, connected as applications are: by the Service, with what is in the Secret.
    pub async fn asks(&self, sql: &str) -> String {
        let secret = self.ns.get::<Secret>(&format!("{}-app", self.name)).await;
        let uri = secret.data.and_then(|data| String::from_utf8(data.get("uri")?.0.clone()).ok()).expect("a URI");
        let pod = format!("{}-0", self.name);
        let psql =
            ["exec", &pod, "--container=postgres", "--", "psql", &uri, "--no-align", "--tuples-only", "--command", sql];
        self.ns.kubectl(&psql).await.ok().trim().to_owned()
    }

    /// Asks for a snapshot of that name, and waits until it is proved.
    pub async fn snapshot(&self, name: &str) -> SampleDBSnapshot {
        let head = "apiVersion: example.com/v1alpha1\nkind: SampleDBSnapshot";
        self.ns.apply(&format!("{head}\nmetadata:\n  name: {name}\nspec: {{sampleDB: {}}}\n", self.name)).await;
        self.proved(name).await
    }

    /// Waits until a snapshot is proved.
    pub async fn proved(&self, name: &str) -> SampleDBSnapshot {
        self.ns
            .until::<SampleDBSnapshot, SampleDBSnapshot>(name, "a snapshot that is proved", |snapshot| {
                let status = snapshot?.status.as_ref()?;
                let proved = status.verification.phase == Some(VerificationPhase::Passed);
                (proved && status.phase == Some(SnapshotPhase::Ready)).then(|| snapshot.cloned()).flatten()
            })
            .await
    }
}
