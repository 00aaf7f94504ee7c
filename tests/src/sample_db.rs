//! A SampleDB in a test's namespace, as a person with kubectl sees it.

use std::sync::LazyLock;

use api::sample_db::SampleDB;
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotPhase, SnapshotReason, VerificationPhase};
use api::{ConditionStatus, Contract};
use jiff::Zoned;
use jiff::tz::TimeZone;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use serde_json::Value;

use crate::kubectl::Answer;
use crate::namespace::{Namespace, RESTRICTED};
use crate::objects::ManagedKind;

mod files;
mod writer;

pub use files::Files;
pub use writer::Writer;

/// Rows that a dump has, and that cannot be loaded, since the constraint of each of two tables reads the other: the definitions
/// alone raise no suspicion, and no order of loading helps.
pub const UNREADABLE: &str = "
    create table zzz as select 1 a;
    create function may(n int) returns boolean language sql as 'select exists (select from public.zzz where a = n)';
    create table aaa (n int check (public.may(n)));
    insert into aaa values (1);
    create function must(n int) returns boolean language sql as 'select exists (select from public.aaa as of where of.n = $1)';
    alter table zzz add check (public.must(a))";

impl ManagedKind for SampleDB {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

impl ManagedKind for SampleDBSnapshot {
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
    Namespace::labelled(purpose, &[RESTRICTED]).await
}

/// Another one for the same test, which `ns` has to outlive.
pub async fn another_namespace(ns: &Namespace, purpose: &str) -> Namespace {
    ns.another(purpose, &[RESTRICTED]).await
}

/// Once a day, half a day away from this run: the default schedule would add a snapshot to a test that runs at two hours after
/// midnight.
fn far_from_now() -> &'static str {
    static SCHEDULE: LazyLock<String> = LazyLock::new(|| {
        let hour = Zoned::now().with_time_zone(TimeZone::UTC).hour();
        format!("0 {} * * *", (hour + 12) % 24)
    });
    &SCHEDULE
}

impl<'a> Database<'a> {
    /// Applies one with that spec, in YAML's short form. It is not backed up by schedule, unless the spec has one.
    ///
    /// # Panics
    /// If the spec is no YAML.
    pub async fn apply(ns: &'a Namespace, name: &'a str, spec: &str) -> Self {
        let mut spec: Value = serde_yaml_ng::from_str(spec).expect("the spec is YAML");
        if spec["backup"]["schedule"].is_null() {
            spec["backup"]["schedule"] = Value::from(far_from_now());
        }
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
        let uri = self.secret("app", "uri").await;
        self.psql(&uri, sql).await
    }

    /// What psql prints for the superuser, whose password only this needs.
    pub async fn superuser_asks(&self, sql: &str) -> String {
        self.superuser_asks_of("app", sql).await
    }

    /// The same, in that database.
    pub async fn superuser_asks_of(&self, database: &str, sql: &str) -> String {
        let password = self.secret("system", "password").await;
        self.psql(&format!("postgresql://postgres:{password}@{}-rw/{database}", self.name), sql).await
    }

    /// What psql prints, connected to that URI.
    pub async fn psql(&self, uri: &str, sql: &str) -> String {
        let answer = self.run_psql(uri, sql).await;
        answer.ok().trim().to_owned()
    }

    /// The same; what psql says if it fails.
    pub async fn try_psql(&self, uri: &str, sql: &str) -> Result<String, String> {
        let answer = self.run_psql(uri, sql).await;
        if answer.success { Ok(answer.stdout.trim().to_owned()) } else { Err(answer.stderr) }
    }

    /// In the pod that serves, which another one is since a major upgrade.
    async fn run_psql(&self, uri: &str, sql: &str) -> Answer {
        let server = format!("service/{}-rw", self.name);
        let options =
            ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1", "--command", sql];
        let psql = [&["exec", &server, "--container=postgres", "--", "psql", uri][..], &options].concat();
        self.ns.kubectl(&psql).await
    }

    /// What psql prints, connected as applications are, or why it does not get in now.
    pub async fn try_asks(&self, sql: &str) -> Result<String, String> {
        let uri = self.try_secret("app", "uri").await.ok_or("there is no Secret")?;
        self.try_psql(&uri, sql).await
    }

    /// The same for the superuser.
    pub async fn try_superuser_asks(&self, sql: &str) -> Result<String, String> {
        let password = self.try_secret("system", "password").await.ok_or("there is no Secret")?;
        self.try_psql(&format!("postgresql://postgres:{password}@{}-rw/app", self.name), sql).await
    }

    async fn try_secret(&self, which: &str, entry: &str) -> Option<String> {
        let api = self.ns.api::<Secret>();
        let secret = api.get_opt(&format!("{}-{which}", self.name)).await.expect("Secrets can be read")?;
        String::from_utf8(secret.data?.get(entry)?.0.clone()).ok()
    }

    /// An entry of one of its Secrets: `app` or `system`.
    ///
    /// # Panics
    /// If there is none.
    pub async fn secret(&self, which: &str, entry: &str) -> String {
        let secret = self.ns.get::<Secret>(&format!("{}-{which}", self.name)).await;
        secret.data.and_then(|data| String::from_utf8(data.get(entry)?.0.clone()).ok()).expect("an entry of the Secret")
    }

    /// Deletes it, and does not wait.
    pub async fn delete(&self, propagation: PropagationPolicy) {
        let how = DeleteParams { propagation_policy: Some(propagation), ..DeleteParams::default() };
        self.ns.api::<SampleDB>().delete(self.name, &how).await.expect("the SampleDB can be deleted");
    }

    /// The uid of its pod.
    pub async fn pod_uid(&self) -> Option<String> {
        self.ns.get::<Pod>(&self.pod()).await.uid()
    }

    /// Waits until its pod is another one than that of this uid.
    pub async fn has_another_pod(&self, before: Option<String>) {
        self.ns.until::<Pod, ()>(&self.pod(), "another pod", |pod| (pod?.uid() != before).then_some(())).await;
    }

    fn pod(&self) -> String {
        format!("{}-0", self.name)
    }

    /// Waits until it is deleted.
    pub async fn is_deleted(&self) {
        self.ns.until_deleted::<SampleDB>(self.name).await;
    }

    /// Its last snapshot, if there is one.
    pub async fn last_snapshot(&self) -> Option<SampleDBSnapshot> {
        let all =
            self.ns.api::<SampleDBSnapshot>().list(&ListParams::default()).await.expect("snapshots can be listed");
        let of = |snapshot: &SampleDBSnapshot| {
            snapshot.spec.sample_db == self.name && snapshot.spec.reason == SnapshotReason::Final
        };
        all.items.into_iter().find(of)
    }

    /// Creates a snapshot of this name.
    pub async fn order(&self, name: &str, spec: &str) {
        let head = "apiVersion: example.com/v1alpha1\nkind: SampleDBSnapshot";
        let spec = format!("sampleDB: {}{spec}", self.name);
        self.ns.apply(&format!("{head}\nmetadata:\n  name: {name}\nspec: {{{spec}}}\n")).await;
    }

    /// Creates a snapshot of this name, and waits until it is verified.
    pub async fn snapshot(&self, name: &str) -> SampleDBSnapshot {
        self.order(name, "").await;
        self.verified(name).await
    }

    /// Waits until a snapshot is verified.
    pub async fn verified(&self, name: &str) -> SampleDBSnapshot {
        self.ns
            .until::<SampleDBSnapshot, SampleDBSnapshot>(name, "a verified snapshot", |snapshot| {
                let status = snapshot?.status.as_ref()?;
                let verified = status.verification.phase == Some(VerificationPhase::Passed);
                (verified && status.phase == Some(SnapshotPhase::Ready)).then(|| snapshot.cloned()).flatten()
            })
            .await
    }
    /// Waits until the Ready condition of a snapshot has that status and reason; returns it.
    pub async fn snapshot_says(&self, name: &str, status: ConditionStatus, reason: &str) -> SampleDBSnapshot {
        let what = format!("Ready to be {status:?}, {reason}");
        self.ns
            .until::<SampleDBSnapshot, SampleDBSnapshot>(name, &what, |snapshot| {
                let ready = snapshot?.condition("Ready")?;
                ((ready.status, &*ready.reason) == (status, reason)).then(|| snapshot.cloned()).flatten()
            })
            .await
    }

    /// Has a snapshot verified again, and waits until that has ended; returns it.
    pub async fn verified_again(&self, name: &str, request: &str) -> SampleDBSnapshot {
        let annotation = format!("example.com/verify={request}");
        drop(self.ns.kubectl(&["annotate", "--overwrite", "sdbsnap", name, &annotation]).await.ok());
        self.ns
            .until::<SampleDBSnapshot, SampleDBSnapshot>(name, "another verdict", |snapshot| {
                let of = &snapshot?.status.as_ref()?.verification;
                let judged = matches!(of.phase, Some(VerificationPhase::Passed | VerificationPhase::Failed));
                (judged && of.request.as_deref() == Some(request)).then(|| snapshot.cloned()).flatten()
            })
            .await
    }
}

/// What the Ready condition of a snapshot says.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn message(snapshot: &SampleDBSnapshot) -> &str {
    snapshot.condition("Ready").map_or_else(|| panic!("{snapshot:?}"), |ready| &ready.message)
}

/// Waits for an Event of this reason about an object, and returns its message.
pub async fn until_event(ns: &Namespace, object: &str, reason: &str) -> String {
    let selector = format!("--field-selector=involvedObject.name={object},reason={reason}");
    ns.eventually(&format!("an Event {reason} of {object}"), || async {
        let said = ns.kubectl(&["get", "events", &selector, "--output=jsonpath={.items[*].message}"]).await.ok();
        if said.is_empty() { Err("none yet".to_owned()) } else { Ok(said) }
    })
    .await
}
