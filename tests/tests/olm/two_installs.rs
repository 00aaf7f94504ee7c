//! OLM installs next to an install by kustomize: it yields and says so, and takes over when the other one is removed.

use std::path::{Path, PathBuf};
use std::time::Instant;

use e2e::cluster::{self, SYSTEM};
use e2e::kubectl::{kubectl, kubectl_within, run};
use e2e::olm::{Approval, Install, Objects, apply_in, get, versions};
use e2e::wait::{DEFAULT_TIMEOUT, wait_until};
use serde_json::Value;

const OBJECTS: &str = r#"
apiVersion: example.com/v1
kind: MyApp
metadata: {name: web}
spec: {replicas: 1, image: "nginx:1.25"}
---
apiVersion: example.com/v1alpha1
kind: Sample
metadata: {name: text}
testString: first
"#;

/// In the namespace of the install by kustomize.
const KEPT: &str = r#"
apiVersion: example.com/v1alpha1
kind: Sample
metadata: {name: kept}
testString: kept
"#;

#[tokio::test]
async fn the_later_one_yields_and_takes_over_when_the_other_is_removed() {
    let _alone = cluster::alone().await;
    let versions = versions();
    let mut install = Install::for_all_namespaces().await;
    let kustomized = Kustomized::new().await;
    apply_in(SYSTEM, KEPT).await;
    let objects = Objects::new("two").await;
    apply_in(&objects.namespace, OBJECTS).await;
    let wait = ["wait", "--namespace", &objects.namespace, "--for=condition=Ready", "myapp/web", "sample/text"];
    drop(kubectl_within(DEFAULT_TIMEOUT, &wait).await.ok());
    let pods = objects.untouched().await.pods;

    install.subscribe(Approval::Automatic, None).await;
    install.succeeds(&versions.current).await;
    for (kind, name) in [("myapp", "web"), ("sample", "text")] {
        let conflict = wait_until(&format!("{kind}/{name} to report the conflict"), DEFAULT_TIMEOUT, || async {
            let object = get(kind, &objects.namespace, name).await.expect("it is there");
            conflict(&object).cloned().ok_or_else(|| object["status"].to_string())
        })
        .await;
        let message = conflict["message"].as_str().unwrap_or_default();
        assert_eq!(conflict["reason"], "ManagedElsewhere", "{conflict}");
        assert!(message.contains("multi-operator-system/multi-operator"), "{message}");
        assert!(message.contains("operators/multi-operator"), "{message}");
        println!("{kind}: Conflict: {message}");
    }
    string_is_kept(&objects, "of the first").await;
    assert_eq!(managed_by(&objects).await, "multi-operator-system/multi-operator");

    kustomized.remove().await;
    let deleted = Instant::now();
    wait_until("the conflict to be over", DEFAULT_TIMEOUT, || async {
        for (kind, name) in [("myapp", "web"), ("sample", "text")] {
            let object = get(kind, &objects.namespace, name).await.expect("it is there");
            if conflict(&object).is_some() || object["status"]["managedBy"] != "operators/multi-operator" {
                return Err(object["status"].to_string());
            }
        }
        Ok(())
    })
    .await;
    println!("taken over {:.1?} after the other install was removed", deleted.elapsed());
    let namespace = get("namespace", "", SYSTEM).await.expect("the other install's namespace stays");
    assert_eq!(namespace["metadata"]["deletionTimestamp"], Value::Null, "and is not being deleted");
    let kept = get("sample", SYSTEM, "kept").await.expect("what is in it stays");
    assert_eq!(kept["metadata"]["deletionTimestamp"], Value::Null, "and is not being deleted");
    let reader = get("clusterrole", "", "multi-operator-metrics-reader").await;
    assert!(reader.is_some(), "OLM's install has it from the bundle, and would not make it again");
    string_is_kept(&objects, "of the second").await;
    assert_eq!(objects.untouched().await.pods, pods, "the pods noticed nothing");
    install.nothing_was_forbidden().await;
    objects.remove().await;
    drop(kubectl_within(2 * DEFAULT_TIMEOUT, &["delete", "namespace", SYSTEM]).await.ok());
    install.remove().await;
}

fn conflict(object: &Value) -> Option<&Value> {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|one| one["type"] == "Conflict" && one["status"] == "True")
}

async fn managed_by(objects: &Objects) -> String {
    objects.kubectl(&["get", "sample/text", "--output=jsonpath={.status.managedBy}"]).await
}

async fn string_is_kept(objects: &Objects, string: &str) {
    let patch = format!(r#"{{"testString":"{string}"}}"#);
    drop(objects.kubectl(&["patch", "sample/text", "--type=merge", "--patch", &patch]).await);
    wait_until("the ConfigMap to follow", DEFAULT_TIMEOUT, || async {
        let map = get("configmap", &objects.namespace, "text").await.unwrap_or_default();
        if map["data"]["testString"] == string { Ok(()) } else { Err(map["data"].to_string()) }
    })
    .await;
}

/// The install of kustomize/overlays/dev; removed when dropped, too. The CRDs stay.
struct Kustomized {
    removed: bool,
}

fn overlay(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kustomize").join(path)
}

impl Kustomized {
    async fn new() -> Self {
        let directory = overlay("overlays/dev");
        let directory = directory.to_str().expect("the path is text");
        drop(kubectl(&["apply", "--server-side", "--force-conflicts", "--kustomize", directory]).await.ok());
        let status = ["rollout", "status", "deployment/multi-operator-manager"];
        drop(
            kubectl_within(DEFAULT_TIMEOUT, &[&status[..], &["--namespace=multi-operator-system"]].concat()).await.ok(),
        );
        Self { removed: false }
    }

    /// By the commands of docs/install.md, "From kustomize to OLM".
    async fn remove(mut self) {
        self.removed = true;
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/install.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        let section = page.split("### From kustomize to OLM").nth(1).expect("the page has the section");
        let commands = section.split("```").nth(1).expect("the section has commands");
        drop(run("", "bash", &["-ec", commands]).await.ok());
    }
}

impl Drop for Kustomized {
    fn drop(&mut self) {
        if !self.removed {
            let delete = std::process::Command::new("kubectl")
                .args(["delete", "--ignore-not-found", "--wait=false", "--kustomize"])
                .arg(overlay("base"))
                .status();
            if !delete.as_ref().is_ok_and(std::process::ExitStatus::success) {
                eprintln!("the install by kustomize is left: {delete:?}");
            }
        }
    }
}
