//! Deleting an Application with all that it has synced: no data is lost that the spec wants saved.

use e2e::argocd::{self, Environment::Dev, Git, SYNC_TIMEOUT, are_healthy, read, text};
use e2e::wait::wait_until;
use serde_json::Value;

use crate::stage::stage;

/// Objects of a kind in dev.
async fn list(kind: &str) -> Vec<Value> {
    let answer = Dev.kubectl(&["get", kind, "--namespace", "dev", "--output=json"]).await.ok();
    let mut answer: Value = serde_json::from_str(&answer).expect("kubectl prints JSON");
    answer["items"].as_array_mut().map(std::mem::take).expect("a list has items")
}

async fn claim(name: &str) -> Option<Value> {
    Dev.get(&format!("persistentvolumeclaim/{name}"), "dev").await
}

/// The last snapshot of the database with that uid, if there is one.
async fn final_snapshot(uid: &Value) -> Option<Value> {
    let all = list("sampledbsnapshots").await;
    all.into_iter().find(|one| one["spec"]["reason"] == "Final" && one["spec"]["sampleDBUID"] == *uid)
}

/// Foreground: the garbage collector takes what the database owns at once, while the database is still being saved.
#[tokio::test]
async fn a_database_is_saved_and_verified_before_its_volume_is_deleted_with_the_application() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let git = Git::clone().await;
    git.replace("kustomize/instances/dev/small_patch.yaml", "    policy: Delete\n", "    policy: Snapshot\n");
    let revision = git.push("Dev's database is worth a last snapshot").await;
    are_healthy(&["dev-operator", "dev-instances"], Some(&revision)).await;
    let (namespace, database) = (Dev.get("namespace/dev", "").await, Dev.instance("sampledb/orders").await);
    let (namespace, database) = (&namespace.expect("it is there")["metadata"]["uid"], &database["metadata"]["uid"]);
    let data = claim("data-orders-0").await.expect("the database has a volume")["metadata"]["uid"].clone();

    argocd::take_out("dev", "instances").await;
    let states = wait_until("the database's volume to go", SYNC_TIMEOUT, || async {
        // Read in this order: a snapshot that is not verified by now was not verified when the volume was already deleted.
        let claim = claim("data-orders-0").await;
        let deleted = claim
            .is_none_or(|claim| claim["metadata"]["uid"] != data || !claim["metadata"]["deletionTimestamp"].is_null());
        let snapshot = final_snapshot(database).await;
        let snapshot = snapshot.unwrap_or_default();
        let verified =
            snapshot["status"]["phase"] == "Ready" && snapshot["status"]["verification"]["phase"] == "Passed";
        assert!(verified || !deleted, "the volume is deleted, and the final snapshot is {snapshot}");
        if deleted { Ok(snapshot) } else { Err(format!("the snapshot: {}", snapshot["status"])) }
    });
    let snapshot = states.await;
    println!("{}: {}", text(&snapshot["metadata"]["name"]), snapshot["status"]["conditions"][0]["message"]);

    wait_until("the Application to be deleted", SYNC_TIMEOUT, || async {
        let left = read("application", "dev-instances").await;
        left.map_or(Ok(()), |app| Err(argocd::not_ready(&app)))
    })
    .await;
    let kept = Dev.get("namespace/dev", "").await.expect("the namespace is kept");
    assert_eq!(kept["metadata"]["uid"], *namespace, "the namespace is the one that it was");
    let snapshot = final_snapshot(database).await.expect("the snapshot outlives the database");
    assert!(snapshot["metadata"]["deletionTimestamp"].is_null(), "{snapshot}");
    let volume = claim("orders-snapshots").await.expect("the claim with the snapshots is kept");
    assert!(volume["metadata"]["deletionTimestamp"].is_null(), "{volume}");

    // After the Application is restored, there is a new database next to the snapshot of the old one.
    argocd::apply_repository().await;
    wait_until("the Application to be there", SYNC_TIMEOUT, || async {
        read("application", "dev-instances").await.map(drop).ok_or_else(|| "it is not".to_owned())
    })
    .await;
    are_healthy(&["dev-instances"], Some(&revision)).await;
    assert_ne!(Dev.instance("sampledb/orders").await["metadata"]["uid"], *database);
    let revision = git.take_back().await;
    are_healthy(&["dev-operator", "dev-instances"], Some(&revision)).await;
}
