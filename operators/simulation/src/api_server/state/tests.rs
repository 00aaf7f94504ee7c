use serde_json::json;

use super::*;
use crate::api_server::request::DeleteOptions;
use crate::api_server::verbs::testing::{Bench, config_map};

#[test]
fn changes_are_told_in_order_with_what_was_before() {
    let mut bench = Bench::new();
    let since = bench.state.version();
    bench.create("configmaps", &config_map("a", "1"));
    bench.merge("configmaps", "a", &json!({ "data": { "a": "2" } })).unwrap();
    bench.delete("configmaps", "a", DeleteOptions::default()).unwrap();
    assert_eq!(bench.changes(since), ["Added a", "Modified a", "Deleted a"]);
    let changes = bench.state.changes(since).unwrap();
    let versions: Vec<_> = changes.iter().map(|change| change.version).collect();
    assert_eq!(versions, [since + 1, since + 2, since + 3]);
    let deleted = changes.last().unwrap();
    assert_eq!(deleted.after["data"], json!({ "a": "2" }));
    assert_eq!(deleted.after["metadata"]["resourceVersion"], json!((since + 3).to_string()));
    assert_eq!(deleted.before.as_ref().unwrap()["metadata"]["resourceVersion"], json!((since + 2).to_string()));
    assert!(changes.first().unwrap().before.is_none());
    assert_eq!(bench.changes(since + 2), ["Deleted a"]);
    assert_eq!(bench.changes(since + 3), Vec::<String>::new());
}

#[test]
fn forgotten_changes_are_not_told() {
    let mut bench = Bench::new();
    let since = bench.state.version();
    bench.create("configmaps", &config_map("a", "1"));
    bench.state.compact();
    assert!(matches!(bench.state.changes(since), Err(Expired)));
    let now = bench.state.version();
    bench.create("configmaps", &config_map("b", "1"));
    assert_eq!(bench.changes(now), ["Added b"]);
}

#[test]
fn objects_are_found_by_kind_and_key() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("a", "1"));
    let (config_maps, secrets) = (bench.id("configmaps"), bench.id("secrets"));
    assert!(bench.state.get(config_maps, "n", "a").is_some());
    assert!(bench.state.get(config_maps, "", "a").is_none() && bench.state.get(secrets, "n", "a").is_none());
    let all: Vec<_> = bench.state.all(config_maps).map(|(key, _)| key.clone()).collect();
    assert_eq!(all, [("n".to_owned(), "a".to_owned())]);
}
