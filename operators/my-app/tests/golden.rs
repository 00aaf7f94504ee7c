//! What is rendered from a MyApp, field by field: a change here restarts the pods of every MyApp that has the field, so the
//! files of a release stay as they are. Each file of `golden/` holds a MyApp and the children that are applied for it;
//! `WRITE_GOLDEN=1 cargo test -p my-app --test golden` writes the children of new files.

mod rendered;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let entries = std::fs::read_dir(folder).expect("the directory of golden files");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// The defaults of pods. New Deployments have them; they are in no golden file, because they must not restart pods.
fn spread() -> Value {
    let spread = |topology: &str| {
        json!({
            "maxSkew": 1, "topologyKey": topology, "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": { "matchLabels": { "app.kubernetes.io/instance": "web", "app.kubernetes.io/name": "myapp" } },
            "matchLabelKeys": ["pod-template-hash"],
        })
    };
    json!([spread("topology.kubernetes.io/zone"), spread("kubernetes.io/hostname")])
}

/// A Deployment from before these defaults existed.
fn without_defaults(mut child: Value) -> Value {
    const NAMED: &str = "kubectl.kubernetes.io/default-container";
    let Some(template) = child.pointer_mut("/spec/template") else { return child };
    let annotations = template["metadata"]["annotations"].as_object_mut().expect("annotations");
    if annotations[NAMED] == "app" {
        annotations.remove(NAMED);
    }
    if annotations.is_empty() {
        template["metadata"].as_object_mut().expect("metadata").remove("annotations");
    }
    if template["spec"]["topologySpreadConstraints"] == spread() {
        template["spec"].as_object_mut().expect("a spec").remove("topologySpreadConstraints");
    }
    child
}

/// The desired children of a MyApp that has none, in the order in which they are applied.
fn rendered(spec: &Value, annotations: &Value) -> Vec<Value> {
    let metadata = json!({ "name": "web", "namespace": "n", "uid": "u", "generation": 1, "annotations": annotations });
    rendered::children(&json!({ "metadata": metadata, "spec": spec }))
}

#[test]
fn rendered_children_match_the_golden_files() {
    let write = std::env::var_os("WRITE_GOLDEN").is_some();
    let mut differ = Vec::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("a golden file");
        let golden: Value = serde_json::from_str(&text).expect("a golden file is JSON");
        let now =
            rendered(&golden["spec"], &golden["annotations"]).into_iter().map(without_defaults).collect::<Vec<_>>();
        if golden["rendered"] == json!(now) {
            continue;
        }
        if write && golden["rendered"].is_null() {
            let mut golden = golden;
            golden["rendered"] = json!(now);
            let text = serde_json::to_string_pretty(&golden).expect("JSON");
            std::fs::write(&file, text + "\n").expect("the golden file can be written");
        } else {
            let now = serde_json::to_string_pretty(&now).expect("JSON");
            differ.push(format!("{} is now rendered as {now}", file.display()));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn new_pods_have_a_default_container_and_spread_constraints() {
    let template = &rendered(&json!({ "image": "i" }), &json!({}))[0]["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"], json!({ "kubectl.kubernetes.io/default-container": "app" }));
    assert_eq!(template["spec"]["topologySpreadConstraints"], spread());
}
