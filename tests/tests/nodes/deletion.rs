//! A node that is deleted for good, with its volumes; and the new one in its place.

use std::path::Path;

use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::pods::{SLEEP, container, in_pod, node_of, pod_on, set_rather_on};
use crate::stage::{NODE_COMES_BACK, act, nodes, third, until_ready};

#[tokio::test]
async fn a_deleted_node_takes_its_volumes_along() {
    let turn = third().await;
    let ns = Namespace::without_manager("deletion").await;
    set_rather_on(&ns, "lost", &turn.node, 300).await;
    in_pod(&ns, "lost-0", "echo of value >/data/file && sync").await.expect("the volume takes a file");
    let volumes: Api<PersistentVolume> = Api::all(ns.client.clone());
    let all = volumes.list(&ListParams::default()).await.expect("volumes can be listed").items;
    let volume = all
        .into_iter()
        .find(|volume| {
            let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
            claim.is_some_and(|claim| claim.namespace.as_deref() == Some(&ns.name))
        })
        .expect("the claim has a volume");
    let directory = volume.spec.as_ref().and_then(|spec| spec.local.as_ref()).expect("a local one").path.clone();
    let file = Path::new(&directory).join("file");
    assert!(file.exists(), "{}", file.display());
    let uid = nodes().await.get(&turn.node).await.expect("the Node is there").uid();

    drop(act(&turn.node, "delete").await.ok());
    let deleted = nodes().await.get_opt(&turn.node).await.expect("nodes can be read");
    assert!(deleted.is_none(), "{deleted:?}");
    assert!(!Path::new(&directory).exists(), "{directory}");
    volumes.get(&volume.name_any()).await.expect("the object of a lost volume stays until its PVC is deleted");
    let again = act(&turn.node, "delete").await;
    assert!(again.success && again.stderr.contains("is deleted already"), "{}", again.stderr);
    let refused = act(&turn.node, "stop").await.refused();
    assert!(refused.contains("is deleted: 'scripts/cluster node"), "{refused}");

    drop(act(&turn.node, "start").await.ok());
    until_ready(&turn.node, "True", NODE_COMES_BACK).await;
    let new = nodes().await.get(&turn.node).await.expect("there is a Node again");
    assert_ne!(new.uid(), uid, "it is another one");
    // Nothing is pulled: it has the images that the others have.
    let pod = pod_on(&ns, "new", &turn.node, &container(SLEEP, None)).await;
    assert_eq!(node_of(&pod), turn.node);
}
