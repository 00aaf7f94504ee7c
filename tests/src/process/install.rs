//! An install for one test: a service account with exactly the generated permissions, and a kubeconfig with its token.

use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedContext};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use super::Failure;
use crate::wait::{DEFAULT_TIMEOUT, try_wait};

/// Name of the service account, its Roles and its Lease; the namespace makes them the test's own.
pub const NAME: &str = "manager";
/// Label of what an install creates outside of namespaces, so that a run can delete it.
pub const LABEL: &str = "multi-operator.example.com/e2e-processes";

/// A service account in `namespace` that may do what an install may, and no more.
#[derive(Clone)]
pub struct Install {
    /// Where the service account and the Lease live.
    pub namespace: String,
    /// The namespaces in which it has permissions.
    pub watched: Vec<String>,
    /// Its token, as managers and scrapers send it.
    pub token: String,
    client: Client,
    kubeconfig: Kubeconfig,
}

impl Install {
    /// Creates one whose permissions are limited to namespaces: the Role in each of `watched`, and the Role for its Lease.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn namespaced(client: &Client, namespace: &str, watched: &[&str]) -> Result<Self, Failure> {
        let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": NAME } });
        apply(client, Some(namespace), account).await?;
        grant(client, namespace, namespace, "leader_election_role.yaml").await?;
        for watched in watched {
            grant(client, namespace, watched, "manager_role.yaml").await?;
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let answer = accounts.create_token_request(NAME, &PostParams::default(), &request).await?;
        let token = answer.status.ok_or("a token was asked for, and none came")?.token;
        let kubeconfig = kubeconfig(&token, namespace)?;
        let watched = watched.iter().map(|&name| name.to_owned()).collect();
        Ok(Self { namespace: namespace.to_owned(), watched, token, client: client.clone(), kubeconfig })
    }

    /// Creates one that watches its own namespace, and may also check at cluster level who may read metrics and which other
    /// managers run.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn new(client: &Client, namespace: &str) -> Result<Self, Failure> {
        let install = Self::namespaced(client, namespace, &[namespace]).await?;
        install.bind_cluster_role("metrics_auth_cluster_role.yaml").await?;
        Ok(install)
    }

    /// Gives it the Role of a watched namespace in another one.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn grant(&self, target: &str) -> Result<(), Failure> {
        grant(&self.client, &self.namespace, target, "manager_role.yaml").await
    }

    /// Binds a generated ClusterRole to the service account, everywhere.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn bind_cluster_role(&self, file: &str) -> Result<(), Failure> {
        let mut role = generated(file)?;
        let name = format!("e2e-processes-{}", role["metadata"]["name"].as_str().unwrap_or_default());
        role["metadata"] = json!({ "name": name, "labels": { LABEL: "true" } });
        let rule = role["rules"][0].clone();
        apply(&self.client, None, role).await?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": { "name": format!("{name}-{}", self.namespace), "labels": { LABEL: "true" } },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": self.namespace }],
        });
        apply(&self.client, None, binding).await?;
        // The permission to read a path that is no resource is used by scrapers, which retry by themselves.
        if rule["resources"].is_null() {
            return Ok(());
        }
        allows(&self.client, &self.user(), None, &rule, true).await
    }

    /// What the audit log calls it.
    #[must_use]
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{NAME}", self.namespace)
    }

    /// How clients connect to the cluster as this account.
    ///
    /// # Errors
    /// If the kubeconfig is invalid.
    pub async fn config(&self) -> Result<Config, Failure> {
        Ok(Config::from_custom_kubeconfig(self.kubeconfig.clone(), &KubeConfigOptions::default()).await?)
    }

    /// Writes the kubeconfig into `directory`, aimed at `server` instead where one is given.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_kubeconfig(&self, directory: &Path, name: &str, server: Option<&str>) -> Result<PathBuf, Failure> {
        let mut kubeconfig = self.kubeconfig.clone();
        if let (Some(server), Some(cluster)) =
            (server, kubeconfig.clusters.first_mut().and_then(|c| c.cluster.as_mut()))
        {
            cluster.server = Some(server.to_owned());
            (cluster.certificate_authority, cluster.certificate_authority_data) = (None, None);
        }
        let mut written = serde_json::to_value(&kubeconfig)?;
        // The library does not write secrets.
        written["users"][0]["user"]["token"] = json!(self.token);
        let path = directory.join(name);
        std::fs::write(&path, written.to_string())?;
        Ok(path)
    }
}

/// The cluster of `KUBECONFIG`, with that token alone.
fn kubeconfig(token: &str, namespace: &str) -> Result<Kubeconfig, Failure> {
    let mut kubeconfig = Kubeconfig::read()?;
    let current = kubeconfig.current_context.clone().ok_or("the kubeconfig has no current context")?;
    let named = kubeconfig.contexts.iter().find(|context| context.name == current);
    let mut context = named.and_then(|named| named.context.clone()).ok_or("the current context is not there")?;
    kubeconfig.clusters.retain(|cluster| cluster.name == context.cluster);
    context.user = Some(NAME.to_owned());
    context.namespace = Some(namespace.to_owned());
    let named: NamedContext = serde_json::from_value(json!({ "name": current, "context": context }))?;
    let user: NamedAuthInfo = serde_json::from_value(json!({ "name": NAME, "user": { "token": token } }))?;
    (kubeconfig.contexts, kubeconfig.auth_infos) = (vec![named], vec![user]);
    Ok(kubeconfig)
}

/// A generated Role or ClusterRole.
///
/// # Errors
/// If it is not there.
pub fn generated(file: &str) -> Result<Value, Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/rbac").join(file);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_yaml_ng::from_str(&text)?)
}

/// A generated Role in `target`, bound to the account in `namespace`.
async fn grant(client: &Client, namespace: &str, target: &str, file: &str) -> Result<(), Failure> {
    let mut role = generated(file)?;
    let name = role["metadata"]["name"].as_str().ok_or("a role without a name")?.to_owned();
    role["metadata"] = json!({ "name": name });
    let rule = role["rules"][0].clone();
    apply(client, Some(target), role).await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        // Two installs may watch one namespace.
        "metadata": { "name": format!("{name}-{namespace}") },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": namespace }],
    });
    apply(client, Some(target), binding).await?;
    let account = format!("system:serviceaccount:{namespace}:{NAME}");
    allows(client, &account, Some(target), &rule, true).await
}

/// Waits until the API server allows an account the first thing of a rule, or forbids it: it learns of roles and bindings by
/// watches, and answers earlier requests by what it knew then.
///
/// # Errors
/// If it does not, or cannot be reached.
pub async fn allows(
    client: &Client,
    account: &str,
    namespace: Option<&str>,
    rule: &Value,
    allowed: bool,
) -> Result<(), Failure> {
    let first = |of: &str| rule[of][0].as_str().unwrap_or_default().to_owned();
    let target = first("resources");
    let (resource, subresource) = target.split_once('/').unwrap_or((&target, ""));
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": account,
            "resourceAttributes": {
                "namespace": namespace, "verb": first("verbs"), "group": first("apiGroups"), "resource": resource,
                "subresource": subresource,
            },
        },
    });
    let review: SubjectAccessReview = serde_json::from_value(review)?;
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    try_wait(DEFAULT_TIMEOUT, || async {
        let answer = reviews.create(&PostParams::default(), &review).await.map_err(|error| error.to_string())?;
        let now = answer.status.is_some_and(|status| status.allowed);
        if now == allowed { Ok(()) } else { Err(format!("{account} may {rule}: {now}")) }
    })
    .await?;
    Ok(())
}

/// Applies any object as the person who runs the tests.
///
/// # Errors
/// What the API server says.
pub async fn apply(client: &Client, namespace: Option<&str>, object: Value) -> Result<(), Failure> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let plural = format!("{}s", kind.to_lowercase());
    let resource =
        ApiResource { group: group.into(), version: version.into(), api_version: api_version.clone(), kind, plural };
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let name = text(&object["metadata"]["name"]);
    api.patch(&name, &PatchParams::apply("e2e").force(), &Patch::Apply(object)).await?;
    Ok(())
}
