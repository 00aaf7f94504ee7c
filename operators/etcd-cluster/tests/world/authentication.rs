//! Clusters with users: authentication is turned on and off, and the password of root is missing, wrong, and right again.

use etcd_cluster::etcd::RootPassword;
use etcd_cluster::observe::SecretFiles;
use runtime::cache::Projection as _;
use runtime::projections::Pod;
use serde_json::json;

use crate::bench::Bench;
use crate::faults::Step;
use crate::stories::settle;

fn bench() -> Bench {
    let authentication = json!({ "rootSecret": "root" });
    let mut bench = Bench::new(&json!({ "size": 3, "storage": { "size": "1Gi" }, "authentication": authentication }));
    bench.etcds.root = Some(RootPassword::new("right"));
    bench
}

fn give(bench: &mut Bench, password: &str) {
    let files = [("password".to_owned(), password.to_owned())].into();
    bench.secrets.insert("root".to_owned(), SecretFiles { files, controller: None });
}

/// Why it is stalled.
fn stalled(bench: &Bench) -> String {
    let conditions = bench.status()["conditions"].as_array().cloned().unwrap_or_default();
    let of = conditions.iter().find(|condition| condition["type"] == "Stalled" && condition["status"] == "True");
    of.map_or_else(String::new, |condition| format!("{}: {}", condition["reason"], condition["message"]))
}

#[test]
fn a_cluster_with_users_begins_once_there_is_a_password() {
    let mut bench = bench();
    bench.take(&Step::Calm(10));
    assert!(
        stalled(&bench).contains("the Secret root of spec.authentication.rootSecret does not exist"),
        "{}",
        bench.story()
    );
    assert_eq!(bench.world.all(Pod::KIND).count(), 0, "{}", bench.story());
    give(&mut bench, "right");
    settle(&mut bench);
    assert!(bench.etcds.requires_users && bench.members().len() == 3, "{}", bench.story());
    // The cluster is changed and repaired like others.
    bench.edit(|object| object["spec"]["size"] = json!(5));
    settle(&mut bench);
    assert_eq!(bench.members().len(), 5, "{}", bench.story());
    bench.edit(|object| object["spec"]["authentication"]["enabled"] = json!(false));
    settle(&mut bench);
    assert!(!bench.etcds.requires_users, "{}", bench.story());
    // What the spec does not ask for any more stays as it is.
    bench.edit(|object| object["spec"]["authentication"]["enabled"] = json!(true));
    settle(&mut bench);
    bench.edit(|object| object["spec"]["authentication"]["enabled"] = json!(false));
    bench.secrets.clear();
    bench.take(&Step::Calm(30));
    assert!(bench.etcds.requires_users && stalled(&bench).contains("does not exist"), "{}", bench.story());
}

#[test]
fn members_stay_while_the_password_is_wrong() {
    let mut bench = bench();
    give(&mut bench, "right");
    settle(&mut bench);
    let pods =
        |bench: &Bench| bench.world.all(Pod::KIND).map(|(_, pod)| pod["metadata"]["uid"].clone()).collect::<Vec<_>>();
    let before = pods(&bench);
    give(&mut bench, "wrong");
    bench.take(&Step::Calm(60));
    let why = stalled(&bench);
    assert!(why.contains("AuthenticationRequired") && why.contains("correct the Secret root"), "{}", bench.story());
    assert_eq!(pods(&bench), before, "{}", bench.story());
    let member = bench.members().remove(0);
    bench.world.delete(Pod::KIND, &bench.key.sibling(&member));
    bench.take(&Step::Calm(60));
    assert_eq!(pods(&bench).len(), 3, "a pod that is deleted returns on its volume: {}", bench.story());
    give(&mut bench, "right");
    settle(&mut bench);
    assert_eq!(bench.members().len(), 3, "{}", bench.story());
}
