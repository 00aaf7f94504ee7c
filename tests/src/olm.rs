//! An install by the Operator Lifecycle Manager, as a user with kubectl creates, observes and removes it.
//!
//! `scripts/olm up --local` installs OLM and this project's catalog in a cluster. Such a cluster has room for one install of this
//! operator: OLM does not let two operators provide one API in the same namespace.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::audit::{self, Audit};
use crate::call::Call;
use crate::kubectl::{kubectl, kubectl_with, kubectl_within};
use crate::wait::wait_until;

mod object;

pub use object::{Objects, Untouched, apply, condition, get, list, uid};

/// The package in the catalog, and the name of Subscriptions.
pub const PACKAGE: &str = "multi-operator";
/// Where OLM and its CatalogSources are.
pub const OLM: &str = "olm";
/// The CatalogSource with the bundles' objects in it.
const CATALOG: &str = "multi-operator-catalog";
/// The CatalogSource as it is published: an image, which names the images of bundles.
pub const CATALOG_OF_IMAGES: &str = "multi-operator-catalog-image";
/// Where OLM's own installation has an OperatorGroup of all namespaces.
pub const OPERATORS: &str = "operators";
/// The manager's Deployment, and its service account.
pub const MANAGER: &str = "multi-operator-manager";
/// How long OLM may take for a step: it waits between tries, and gives one minute to a plan.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(180);

/// The names of CSVs.
#[derive(Clone, Debug)]
pub struct Versions {
    /// What upgrades begin with.
    pub previous: String,
    /// The head of the channel.
    pub current: String,
}

/// What the catalog's default channel holds: the head, and what it replaces.
///
/// # Panics
/// If the template does not say so.
#[must_use]
pub fn versions() -> Versions {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/template.yaml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let template: Value = serde_yaml_ng::from_str(&text).expect("the template is YAML");
    let entries = template["entries"].as_array().expect("the template has entries");
    let package = entries.iter().find(|entry| entry["schema"] == "olm.package").expect("a package");
    let is_default = |entry: &Value| entry["schema"] == "olm.channel" && entry["name"] == package["defaultChannel"];
    let channel = entries.iter().find(|entry| is_default(entry)).expect("the default channel");
    let entries = channel["entries"].as_array().expect("a channel has entries");
    let newest = entries.iter().find(|one| entries.iter().all(|other| other["replaces"] != one["name"]));
    let newest = newest.expect("a channel has a head");
    let text = |value: &Value| value.as_str().expect("a name").to_owned();
    Versions { previous: text(&newest["replaces"]), current: text(&newest["name"]) }
}

/// Whether OLM requires approval before it installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// It does not.
    Automatic,
    /// An InstallPlan waits for a person.
    Manual,
}

/// An install of this operator in one namespace.
pub struct Install {
    /// Where Subscription, CSV and manager are.
    pub namespace: String,
    source: &'static str,
    audit: Audit,
}

impl Install {
    /// In the namespace with the OperatorGroup of all namespaces; whatever earlier tests have left is removed first.
    pub async fn for_all_namespaces() -> Self {
        remove_all().await;
        Self::noted(OPERATORS)
    }

    /// In a namespace of its own, with an OperatorGroup of these; whatever earlier tests have left is removed first.
    pub async fn for_namespaces(namespace: &str, targets: &[&str]) -> Self {
        remove_all().await;
        let group = json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": { "name": PACKAGE, "namespace": namespace },
            "spec": { "targetNamespaces": targets },
        });
        apply(&group).await;
        Self::noted(namespace)
    }

    fn noted(namespace: &str) -> Self {
        let user = format!("system:serviceaccount:{namespace}:{MANAGER}");
        let audit = Audit::from_now(&user).expect(
            "these tests search for rejections in the API server's audit log: name it by MULTI_OPERATOR_AUDIT_LOG, as \
             scripts/cluster env does",
        );
        Self { namespace: namespace.to_owned(), source: CATALOG, audit }
    }

    /// From the catalog that is an image, and that names images.
    #[must_use]
    pub fn from_images(mut self) -> Self {
        self.source = CATALOG_OF_IMAGES;
        self
    }

    /// Creates the Subscription, to the newest version or beginning with this CSV.
    pub async fn subscribe(&self, approval: Approval, beginning: Option<&str>) {
        let mut subscription = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": { "name": PACKAGE, "namespace": self.namespace },
            "spec": {
                "name": PACKAGE, "source": self.source, "sourceNamespace": OLM,
                "installPlanApproval": format!("{approval:?}"),
            },
        });
        if let Some(csv) = beginning {
            subscription["spec"]["startingCSV"] = json!(csv);
        }
        apply(&subscription).await;
    }

    /// Waits until an InstallPlan for that CSV waits for approval; returns its name.
    pub async fn plan_waits(&self, csv: &str) -> String {
        wait_until(&format!("an InstallPlan of {csv} that waits for approval"), INSTALL_TIMEOUT, || async {
            let plans = list("installplans", &self.namespace).await;
            let waits = plans.iter().find(|plan| {
                let names = plan["spec"]["clusterServiceVersionNames"].as_array();
                names.is_some_and(|names| names.contains(&json!(csv))) && plan["status"]["phase"] == "RequiresApproval"
            });
            let name = waits.and_then(|plan| plan["metadata"]["name"].as_str());
            name.map(str::to_owned).ok_or_else(|| format!("{plans:?}"))
        })
        .await
    }

    /// Approves an InstallPlan, as a person does.
    pub async fn approve(&self, plan: &str) {
        let patch = r#"--patch={"spec":{"approved":true}}"#;
        let approve = ["patch", "installplan", plan, "--namespace", &self.namespace, "--type=merge", patch];
        drop(kubectl(&approve).await.ok());
    }

    /// Waits until this CSV has Succeeded, is the only one of this operator in the namespace, and its manager runs; returns how
    /// long that took.
    pub async fn succeeds(&self, csv: &str) -> Duration {
        let begun = Instant::now();
        wait_until(&format!("{csv} to be the only one, and Succeeded"), INSTALL_TIMEOUT, || async {
            let csvs = list("clusterserviceversions", &self.namespace).await;
            let says: Vec<_> = csvs.iter().map(|csv| (&csv["metadata"]["name"], &csv["status"])).collect();
            match csvs.as_slice() {
                [only] if only["metadata"]["name"] == csv && only["status"]["phase"] == "Succeeded" => Ok(()),
                _ => Err(format!("{says:?}")),
            }
        })
        .await;
        let took = begun.elapsed();
        let requirements = get("clusterserviceversion", &self.namespace, csv).await.expect("the CSV is there");
        for of in requirements["status"]["requirementStatus"].as_array().expect("OLM reports its requirements") {
            assert_eq!(of["status"], "Present", "{of}");
        }
        took
    }

    /// The manager's pod, of which there is one.
    pub async fn manager(&self) -> Value {
        let pods = wait_until("one manager that is ready", INSTALL_TIMEOUT, || async {
            let pods = Objects::managers(&self.namespace).await;
            match pods.as_slice() {
                [pod] if condition(pod, "Ready") == "True" => Ok(pods),
                _ => Err(format!("{} pods", pods.len())),
            }
        });
        pods.await.swap_remove(0)
    }

    /// The manager's image.
    pub async fn image(&self) -> String {
        let pod = self.manager().await;
        pod["spec"]["containers"][0]["image"].as_str().expect("a container has an image").to_owned()
    }

    /// Whether the manager has made a request for which it had no permission: by the API server's log and by its own. It must be
    /// running. OLM copies the permissions into other namespaces than the install's own while the manager starts; until then, its
    /// lists may be rejected there.
    pub async fn nothing_was_forbidden(&self) {
        let entries = self.audit.entries().expect("the audit log can be read");
        assert!(!entries.is_empty(), "the audit log is not that of this cluster");
        let refused: Vec<String> = entries
            .iter()
            .filter(|entry| !entry.allowed)
            .filter(|entry| entry.call.namespace == self.namespace || !audit::is_allowed_later(entry, &entries))
            .map(|entry| entry.call.line())
            .collect();
        assert!(refused.is_empty(), "of {} requests, refused:\n{}", entries.len(), refused.join("\n"));
        let manager = format!("deployment/{MANAGER}");
        let log = kubectl(&["logs", "--namespace", &self.namespace, &manager]).await.ok();
        // In the seconds after a CRD is created, admission does not know the new kind as an owner: no permission is missing. A
        // permission that it does miss, it requests by the name of the Role: the audit log shows whether one was missing.
        let says: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("orbidden") || line.contains("panicked"))
            .filter(|line| !line.contains("cannot find RESTMapping") && !line.contains("bind the Role"))
            .collect();
        assert!(says.is_empty(), "the manager's log:\n{}", says.join("\n"));
        println!("permissions: {} requests of the manager in {}, 0 forbidden", entries.len(), self.namespace);
    }

    /// Forgets the manager's requests until now.
    pub fn marks(&mut self) {
        self.audit = self.audit.mark().expect("the audit log is there");
    }

    /// The manager's requests since.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.audit.calls().expect("the audit log can be read")
    }

    /// Removes it as the documentation says, and waits until no manager is left. Custom resources stay. OLM removes the
    /// permissions while the manager still runs, so its last request, which releases its Lease, is rejected: all requests until
    /// now are forgotten.
    pub async fn remove(&mut self) {
        remove_from(&self.namespace).await;
        self.marks();
    }
}

/// Deletes the Subscription and then the CSVs, by their names: the label that OLM gives to both comes later to a CSV, or, where OLM is
/// slow, not before it is to be deleted. An install that was under way may still create one.
async fn remove_from(namespace: &str) {
    drop(kubectl(&["delete", "subscription", PACKAGE, "--ignore-not-found", "--namespace", namespace]).await.ok());
    wait_until("CSV and manager to be deleted", INSTALL_TIMEOUT, || async {
        let csvs: Vec<Value> = list("clusterserviceversions", namespace).await.into_iter().filter(is_own).collect();
        for name in csvs.iter().filter_map(|csv| csv["metadata"]["name"].as_str()) {
            let delete = ["delete", "clusterserviceversion", name, "--ignore-not-found", "--namespace", namespace];
            drop(kubectl_within(Duration::from_secs(60), &delete).await.ok());
        }
        let left = Objects::managers(namespace).await;
        if csvs.is_empty() && left.is_empty() { Ok(()) } else { Err(format!("{} pods", left.len())) }
    })
    .await;
}

/// Whether a CSV is of our package, and no copy for a namespace that an OperatorGroup names.
fn is_own(csv: &Value) -> bool {
    let name = csv["metadata"]["name"].as_str().unwrap_or_default();
    name.starts_with(&format!("{PACKAGE}.v")) && csv["metadata"]["labels"]["olm.copiedFrom"].is_null()
}

/// Removes every install of this operator by OLM, and the OperatorGroups of these tests.
pub async fn remove_all() {
    let subscribed = list("subscriptions", "").await.into_iter().filter(|one| one["spec"]["name"] == PACKAGE);
    let installed = list("clusterserviceversions", "").await.into_iter().filter(is_own);
    let namespaces =
        subscribed.chain(installed).filter_map(|one| one["metadata"]["namespace"].as_str().map(str::to_owned));
    for namespace in namespaces.collect::<BTreeSet<_>>() {
        remove_from(&namespace).await;
    }
    for group in list("operatorgroups", "").await {
        if group["metadata"]["name"] == PACKAGE {
            let namespace = group["metadata"]["namespace"].as_str().expect("a namespace");
            drop(kubectl(&["delete", "operatorgroup", PACKAGE, "--namespace", namespace]).await.ok());
        }
    }
}

/// Applies a manifest in a namespace.
pub async fn apply_in(namespace: &str, manifest: &str) {
    drop(kubectl_with(manifest, &["apply", "--namespace", namespace, "--filename", "-"]).await.ok());
}
