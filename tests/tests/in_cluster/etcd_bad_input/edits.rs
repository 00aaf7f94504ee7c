//! What is refused of edits.

use api::etcd_cluster::EtcdCluster;
use e2e::namespace::Namespace;
use serde_json::{Value, json};

use super::{edited, manifest, tried};

#[tokio::test]
async fn volumes_and_names_of_members_stay_through_edits() {
    let claim = |size: &str, extra: Value| {
        let mut claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": size } } });
        for (key, value) in extra.as_object().expect("fields") {
            claim[key] = value.clone();
        }
        json!({ "pod": { "persistentVolumeClaimSpec": claim } })
    };
    let storage = |storage: Value| json!({ "storage": storage });
    let sparse =
        json!({ "pod": { "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "1Gi" } } } } });
    let domain = |domain: &str| json!({ "pod": { "ClusterDomain": domain } });
    let plain = json!({});
    let class = Some("cannot be changed, added or removed: members keep their volumes; create a new cluster");
    let ephemeral = Some("spec.storage.ephemeral cannot be changed: members would lose their data");
    let fixed = Some("accessModes, volumeName and selector of pod.persistentVolumeClaimSpec cannot be changed");
    let claim_stays = Some("spec.pod.persistentVolumeClaimSpec cannot be removed, unless spec.storage.size replaces");
    let claim_comes = Some("spec.pod.persistentVolumeClaimSpec cannot be added later");
    let named = Some("spec.pod.ClusterDomain cannot be changed: members are identified by their DNS names");
    let bytes = Some("storage.size must be a quantity of bytes from 1 to 1Pi");
    edited(
        "etcd-edits",
        &[
            // By storage.
            (storage(json!({ "size": "2Gi" })), storage(json!({ "size": "4Gi" })), None),
            (storage(json!({ "size": "1Gi" })), storage(json!({ "size": "1024Mi" })), None),
            // This reverts an expansion that the StorageClass does not allow; volumes themselves never shrink.
            (storage(json!({ "size": "2Gi" })), storage(json!({ "size": "2G" })), None),
            (storage(json!({ "size": "2Gi" })), storage(json!({})), None),
            (storage(json!({})), storage(json!({ "size": "512Mi" })), None),
            (storage(json!({})), storage(json!({ "size": "1Gi" })), None),
            (storage(json!({ "size": "512Mi" })), storage(json!({})), None),
            (storage(json!({ "size": "2Gi" })), storage(json!({ "size": "lots" })), bytes),
            // So is one whose commit is reverted.
            (storage(json!({ "size": "2Gi" })), plain.clone(), None),
            (storage(json!({ "size": "2Gi", "onDelete": "Delete" })), plain.clone(), None),
            (storage(json!({ "onDelete": "Delete" })), plain.clone(), None),
            (storage(json!({ "onDelete": "Delete" })), storage(json!({ "onDelete": "Retain" })), None),
            (plain.clone(), storage(json!({ "size": "2Gi", "onDelete": "Delete" })), None),
            (plain.clone(), storage(json!({ "size": "512Mi" })), None),
            (plain.clone(), storage(json!({ "ephemeral": true })), ephemeral),
            (storage(json!({ "ephemeral": true })), plain.clone(), ephemeral),
            (storage(json!({ "ephemeral": true })), storage(json!({ "size": "1Gi" })), ephemeral),
            (storage(json!({})), storage(json!({ "ephemeral": true })), ephemeral),
            // The class, whichever way it is named.
            (storage(json!({ "storageClassName": "a" })), storage(json!({ "storageClassName": "b" })), class),
            (storage(json!({ "storageClassName": "a" })), storage(json!({})), class),
            (storage(json!({ "storageClassName": "a" })), plain.clone(), class),
            (storage(json!({})), storage(json!({ "storageClassName": "a" })), class),
            (plain.clone(), storage(json!({ "storageClassName": "a" })), class),
            (claim("1Gi", json!({ "storageClassName": "a" })), claim("1Gi", json!({ "storageClassName": "b" })), class),
            (claim("1Gi", json!({ "storageClassName": "a" })), claim("1Gi", json!({})), class),
            (claim("1Gi", json!({ "storageClassName": "" })), claim("1Gi", json!({})), class),
            (claim("1Gi", json!({ "storageClassName": "a" })), storage(json!({ "size": "1Gi" })), class),
            // With a complete PVC template.
            (claim("1Gi", json!({})), claim("2Gi", json!({})), None),
            (claim("1073741824", json!({})), claim("1Gi", json!({})), None),
            (claim("2Gi", json!({})), claim("1Gi", json!({})), None),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "accessModes": ["ReadWriteMany"] })), fixed),
            (claim("1Gi", json!({})), sparse, None),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "volumeName": "pv-1" })), fixed),
            (claim("1Gi", json!({ "volumeName": "pv-1" })), claim("1Gi", json!({})), fixed),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "selector": { "matchLabels": { "a": "b" } } })), fixed),
            (
                claim("1Gi", json!({ "selector": { "matchLabels": { "a": "b" } } })),
                claim("1Gi", json!({ "selector": { "matchLabels": { "a": "c" } } })),
                fixed,
            ),
            (claim("1Gi", json!({})), claim("1Gi", json!({ "volumeAttributesClassName": "gold" })), None),
            (claim("1Gi", json!({})), plain.clone(), claim_stays),
            (claim("2Gi", json!({})), storage(json!({ "size": "1Gi" })), claim_stays),
            (claim("2Gi", json!({})), storage(json!({})), claim_stays),
            // A size would render another PVC than these are, and the API server does not change PVCs.
            (claim("1Gi", json!({ "accessModes": ["ReadWriteOnce"] })), storage(json!({ "size": "1Gi" })), None),
            (claim("1Gi", json!({ "accessModes": ["ReadWriteMany"] })), storage(json!({ "size": "1Gi" })), claim_stays),
            (claim("1Gi", json!({ "volumeName": "a" })), storage(json!({ "size": "1Gi" })), claim_stays),
            (claim("1Gi", json!({ "selector": {} })), storage(json!({ "size": "1Gi" })), claim_stays),
            (
                claim("2Gi", json!({ "storageClassName": "a" })),
                storage(json!({ "size": "3Gi", "storageClassName": "a" })),
                None,
            ),
            (plain.clone(), claim("1Gi", json!({})), claim_comes),
            (storage(json!({})), claim("1Gi", json!({})), claim_comes),
            // As it was before a size took its place.
            (storage(json!({ "size": "2Gi" })), claim("1Gi", json!({})), None),
            (
                storage(json!({ "size": "1Gi" })),
                json!({ "pod": { "persistentVolumeClaimSpec": { "resources": { "requests": { "storage": "1Gi" } } } } }),
                None,
            ),
            (storage(json!({ "size": "1Gi" })), claim("1Gi", json!({ "accessModes": ["ReadWriteMany"] })), claim_comes),
            (storage(json!({ "size": "1Gi" })), claim("1Gi", json!({ "volumeName": "pv-1" })), claim_comes),
            (
                storage(json!({ "size": "1Gi" })),
                claim("1Gi", json!({ "selector": { "matchLabels": { "a": "b" } } })),
                claim_comes,
            ),
            (storage(json!({ "size": "1Gi" })), claim("1Gi", json!({ "storageClassName": "a" })), class),
            // Names in DNS.
            (domain(".cluster.local"), domain(".example.com"), named),
            (domain(".cluster.local"), plain.clone(), named),
            (plain.clone(), domain(".cluster.local"), named),
            (plain.clone(), domain(""), None),
        ],
    )
    .await;
}

#[tokio::test]
async fn names_must_leave_room_for_what_is_named_after_them() {
    let ns = Namespace::new("etcd-names").await;
    let (longest, longer) = ("n".repeat(52), "n".repeat(53));
    for name in ["a", "a1", "my-etcd", "a--b", &longest] {
        assert_eq!(tried(&ns, name, &json!({ "size": 3 })).await, Ok(()), "{name}");
    }
    for name in ["my.etcd", "1etcd", &longer] {
        let said = tried(&ns, name, &json!({ "size": 3 })).await.expect_err(name);
        assert!(said.contains("1 to 52 lower-case letters, digits or '-', start with a letter"), "{name}: {said}");
    }
}

#[tokio::test]
async fn an_edit_of_an_etcd_cluster_is_judged_as_a_create_is() {
    let ns = Namespace::new("etcd-judged").await;
    ns.apply(&manifest("web", "{size: 3, version: 3.6.16, paused: true}")).await;
    for (patch, sentence) in [
        (json!({ "spec": { "size": 8 } }), "less than or equal to 7"),
        (json!({ "spec": { "version": "latest" } }), "version must be a full etcd version"),
        (json!({ "spec": { "options": { "data-dir": "/tmp" } } }), "options must be among auto-compaction-mode"),
        (json!({ "spec": { "pod": { "etcdEnv": [{ "name": "ETCD_NAME", "value": "x" }] } } }), "omit this variable"),
        (json!({ "spec": { "pod": { "labels": { "app": "web" } } } }), "use other keys"),
    ] {
        let said = ns.kubectl(&["patch", "etcd/web", "--type=merge", "--patch", &patch.to_string()]).await.refused();
        assert!(said.contains(sentence), "{patch}: {said}");
    }
    for replicas in ["--replicas=0", "--replicas=8"] {
        let said = ns.kubectl(&["scale", "etcd/web", replicas]).await.refused();
        assert!(said.contains("spec.size"), "{said}");
    }
    drop(ns.kubectl(&["scale", "etcd/web", "--replicas=5", "--dry-run=server"]).await.ok());
    assert_eq!(ns.get::<EtcdCluster>("web").await.metadata.generation, Some(1));
    let strict = manifest("web", "{size: 3, version: 3.6.16, paused: true, pod: {dnsTimeoutInSecond: 3}}");
    let said = ns.kubectl_with(&strict, &["apply", "--filename", "-"]).await.refused();
    assert!(said.contains("unknown field \"spec.pod.dnsTimeoutInSecond\""), "{said}");
}
