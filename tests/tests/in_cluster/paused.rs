//! A paused MyApp is left as it is.

use api::my_app::{MyApp, MyAppPhase};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, image, phase, runs};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use crate::manifest::my_app;
use crate::running::running;
use crate::writes::{lines, settled, to, writes};

async fn is_paused(ns: &Namespace, name: &str) {
    ns.until::<MyApp, ()>(name, "it to be paused", |app| {
        let said = phase(app?) == Some(MyAppPhase::Paused) && app?.condition("Ready")?.reason.as_str() == "Paused";
        said.then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_paused_my_app_is_neither_created_nor_changed_nor_repaired() {
    let ns = Namespace::new("paused").await;
    let audit = cluster::audit();
    ns.apply(&my_app("fresh", "{replicas: 1, image: nginx:1.25, paused: true}")).await;
    is_paused(&ns, "fresh").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25}")).await;
    running(&ns, 1).await;
    assert!(ns.api::<Deployment>().get_opt("fresh").await.expect("Deployments can be read").is_none());

    ns.patch("myapp/web", &json!({ "spec": { "paused": true } })).await;
    is_paused(&ns, "web").await;
    let mark = audit.mark().expect("the audit log is there");
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26", "port": 80 } })).await;
    is_paused(&ns, "web").await;
    drop(ns.kubectl(&["scale", "deployment/web", "--replicas=2"]).await.ok());
    settled(&mark, &ns).await;
    let written = writes(&mark, &ns);
    assert!(written.iter().all(|call| call.target() == "myapps/status"), "only status:\n{}", lines(&written));
    assert_eq!(image(&ns.get("web").await), "nginx:1.25");

    ns.patch("myapp/web", &json!({ "spec": { "paused": null } })).await;
    ns.patch("myapp/fresh", &json!({ "spec": { "paused": false } })).await;
    for name in ["web", "fresh"] {
        ns.until::<MyApp, ()>(name, "it to run", |app| runs(app?, 1).then_some(())).await;
    }
    assert_eq!(image(&ns.get("web").await), "nginx:1.26");
    assert_eq!(to(&writes(&mark, &ns), "services").len(), 1, "the port of meanwhile");
}
