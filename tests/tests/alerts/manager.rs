//! The manager itself, and objects that it cannot get on with.

use e2e::cluster::{scale_manager, start_manager};
use e2e::namespace::Namespace;
use e2e::prometheus::{fires, is_silent, resolves};

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

#[tokio::test]
async fn no_manager() {
    let ns = Namespace::alone("alerts-manager").await;
    is_silent("MultiOperatorDown", &[]).await;
    is_silent("MultiOperatorNoLeader", &[]).await;
    scale_manager(&ns.client, 0).await;
    fires("MultiOperatorNoLeader", &[]).await;
    fires("MultiOperatorDown", &[]).await;
    start_manager(&ns.client).await;
    resolves("MultiOperatorDown", &[]).await;
    resolves("MultiOperatorNoLeader", &[]).await;
}
