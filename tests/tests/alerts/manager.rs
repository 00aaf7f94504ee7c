//! The manager itself, and objects that it cannot get on with.

use std::process::Stdio;

use e2e::cluster::{scale_manager, start_manager};
use e2e::kubectl::{kubectl, kubectl_with};
use e2e::namespace::Namespace;
use e2e::prometheus::{fires, is_silent, resolves};
use serde_json::Value;

/// As many objects as fail at a time: each is tried ever more rarely, down to once a minute, while windows are short here.
const FAILING: usize = 30;

#[tokio::test]
async fn children_that_are_refused() {
    let ns = Namespace::new("alerts-refused").await;
    let quota =
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {count/deployments.apps: '0'}}\n";
    ns.apply(quota).await;
    // The quota's controller has to have counted first.
    ns.eventually("a quota that counts", || async {
        let used = ns.kubectl(&["get", "resourcequota/none", "--output=jsonpath={.status.used}"]).await.ok();
        if used.is_empty() { Err("not yet".to_owned()) } else { Ok(()) }
    })
    .await;
    let app = |number| {
        let head = "apiVersion: example.com/v1\nkind: MyApp";
        format!("{head}\nmetadata: {{name: web-{number}}}\nspec: {{image: 'nginx:1.25', replicas: 0}}\n")
    };
    ns.apply(&(0..FAILING).map(app).collect::<Vec<_>>().join("---\n")).await;
    let of_it = [("controller", "my-app"), ("namespace", ns.name.as_str()), ("name", "web-0")];
    fires("MultiOperatorReconcileErrors", &[("controller", "my-app")]).await;
    fires("MultiOperatorObjectStalled", &of_it).await;
    drop(ns.kubectl(&["delete", "resourcequota/none"]).await.ok());
    resolves("MultiOperatorObjectStalled", &of_it).await;
    resolves("MultiOperatorReconcileErrors", &[("controller", "my-app")]).await;
}

/// Has the right to see Samples again when it is dropped, however the test ends.
struct WithoutRight(Value);

impl WithoutRight {
    const ROLE: &str = "clusterrole/multi-operator-manager";

    async fn to(resource: &str) -> Self {
        let role = kubectl(&["get", Self::ROLE, "--output=json"]).await.ok();
        let role: Value = serde_json::from_str(&role).expect("JSON");
        let mut without = role.clone();
        for rule in without["rules"].as_array_mut().expect("rules") {
            if let Some(resources) = rule["resources"].as_array_mut() {
                resources.retain(|of| of != resource);
            }
        }
        let rules = without["rules"].as_array_mut().expect("rules");
        rules.retain(|rule| rule["resources"].as_array().is_none_or(|of| !of.is_empty()));
        // Whoever takes rights away has to name them all; the role's version would keep it from being put back.
        without["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
        drop(kubectl_with(&without.to_string(), &["replace", "--filename", "-"]).await.ok());
        Self(role)
    }
}

impl Drop for WithoutRight {
    fn drop(&mut self) {
        self.0["metadata"].as_object_mut().expect("metadata").remove("resourceVersion");
        let mut child = std::process::Command::new("kubectl")
            .args(["replace", "--filename", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("kubectl is on PATH");
        let written =
            std::io::Write::write_all(&mut child.stdin.take().expect("stdin is piped"), self.0.to_string().as_bytes());
        written.expect("kubectl reads");
        assert!(child.wait().expect("kubectl ends").success(), "{} could not be put back", Self::ROLE);
    }
}

#[tokio::test]
async fn no_manager_and_then_one_that_may_not_see_samples() {
    let ns = Namespace::alone("alerts-manager").await;
    is_silent("MultiOperatorDown", &[]).await;
    is_silent("MultiOperatorNoLeader", &[]).await;
    scale_manager(&ns.client, 0).await;
    fires("MultiOperatorNoLeader", &[]).await;
    fires("MultiOperatorDown", &[]).await;
    let right = WithoutRight::to("samples").await;
    start_manager(&ns.client).await;
    resolves("MultiOperatorDown", &[]).await;
    resolves("MultiOperatorNoLeader", &[]).await;
    fires("MultiOperatorWatchFailing", &[("kind", "Sample")]).await;
    drop(right);
    resolves("MultiOperatorWatchFailing", &[("kind", "Sample")]).await;
}
