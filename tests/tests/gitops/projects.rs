//! A project permits the kinds that its environment's manifests have, and no others.

use std::collections::BTreeSet;
use std::path::Path;

use e2e::argocd::{Git, text};
use e2e::kubectl::run;
use serde::Deserialize;
use serde_json::Value;

use crate::stage::stage;

/// Group and kind.
type Kinds = BTreeSet<(String, String)>;

fn listed(project: &Value, list: &str) -> Kinds {
    let list = project["spec"][list].as_array().into_iter().flatten();
    list.map(|one| (text(&one["group"]), text(&one["kind"]))).collect()
}

/// The kinds that a directory is built to: cluster-scoped ones, and namespaced ones.
async fn built(directory: &Path) -> [Kinds; 2] {
    let output = run("", "kustomize", &["build", directory.to_str().expect("the path is text")]).await.ok();
    let mut kinds = [Kinds::new(), Kinds::new()];
    for document in serde_yaml_ng::Deserializer::from_str(&output) {
        let object = Value::deserialize(document).expect("kustomize prints YAML");
        let version = text(&object["apiVersion"]);
        let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
        let of_namespace = usize::from(!object["metadata"]["namespace"].is_null());
        kinds[of_namespace].insert((group, text(&object["kind"])));
    }
    kinds
}

#[tokio::test]
async fn a_project_lists_exactly_the_kinds_of_its_environment() {
    stage().await;
    let git = Git::clone().await;
    for environment in ["dev", "staging", "production"] {
        let project = e2e::argocd::read("appproject", &format!("multi-operator-{environment}")).await;
        let project = project.expect("the project is there");
        let mut all = [Kinds::new(), Kinds::new()];
        for directory in ["crds".to_owned(), format!("overlays/{environment}"), format!("instances/{environment}")] {
            let [cluster, namespaced] = built(&git.directory().join("kustomize").join(directory)).await;
            all[0].extend(cluster);
            all[1].extend(namespaced);
        }
        // Created by the action `snapshot`.
        all[1].insert(("example.com".to_owned(), "SampleDBSnapshot".to_owned()));
        // Needs a claim of its own, so no environment has one; a team that adds one to git needs no change of the project.
        all[1]
            .extend(["EtcdBackup", "EtcdRestore"].map(|kind| ("etcd.database.coreos.com".to_owned(), kind.to_owned())));
        assert_eq!(listed(&project, "clusterResourceWhitelist"), all[0], "{environment}");
        assert_eq!(listed(&project, "namespaceResourceWhitelist"), all[1], "{environment}");
    }
}
