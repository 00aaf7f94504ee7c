use serde_json::Value;

use super::*;

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| text(item, "/metadata/name")).collect()
}

fn page(limit: usize, after: Option<&Value>) -> ListOptions {
    let after = after.map(|list| text(list, "/metadata/continue").to_owned());
    ListOptions { limit: Some(limit), after, ..ListOptions::default() }
}

#[test]
fn a_list_has_the_version_at_which_it_was_read() {
    let mut bench = Bench::new();
    let empty = bench.list("configmaps", ListOptions::default()).unwrap();
    assert_eq!((text(&empty, "/kind"), text(&empty, "/apiVersion"), names(&empty).len()), ("ConfigMapList", "v1", 0));
    bench.create("configmaps", &config_map("b", "1"));
    bench.create("configmaps", &config_map("a", "1"));
    let list = bench.list("configmaps", ListOptions::default()).unwrap();
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(text(&list, "/metadata/resourceVersion"), bench.state.version().to_string());
    assert_eq!(list["items"][0].get("kind"), None, "of built-in kinds");
    bench.create("samples", &sample("a", "x"));
    let list = bench.list("samples", ListOptions::default()).unwrap();
    assert_eq!(text(&list, "/items/0/kind"), "Sample");
}

#[test]
fn the_pages_of_a_list_show_one_version() {
    let mut bench = Bench::new();
    for name in ["a", "b", "c", "d", "e"] {
        bench.create("configmaps", &config_map(name, "1"));
    }
    let first = bench.list("configmaps", page(2, None)).unwrap();
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(3)));
    bench.delete("configmaps", "c", crate::api_server::request::DeleteOptions::default()).unwrap();
    bench.merge("configmaps", "d", &json!({ "data": { "a": "2" } })).unwrap();
    bench.create("configmaps", &config_map("da", "1"));
    let second = bench.list("configmaps", page(2, Some(&first))).unwrap();
    assert_eq!(names(&second), ["c", "d"]);
    assert_eq!(text(&second, "/items/1/data/a"), "1");
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let third = bench.list("configmaps", page(2, Some(&second))).unwrap();
    assert_eq!((names(&third), third["metadata"].get("continue")), (vec!["e"], None));
    bench.state.compact();
    assert_eq!(bench.list("configmaps", page(2, Some(&second))).unwrap_err().code, 410);
    let broken = ListOptions { after: Some("x".to_owned()), ..ListOptions::default() };
    assert_eq!(bench.list("configmaps", broken).unwrap_err().code, 400);
}

#[test]
fn a_list_is_of_one_namespace_or_of_all_and_may_be_selected() {
    let mut bench = Bench::new();
    bench.create("namespaces", &json!({ "metadata": { "name": "other" } }));
    bench.create("configmaps", &config_map("a", "1"));
    let mut body = config_map("b", "1");
    body["metadata"]["labels"] = json!({ "app": "x" });
    let create = Verb::Create { body, strict: false };
    let mut elsewhere = bench.request("configmaps", None, create);
    elsewhere.namespace = Some("other".to_owned());
    bench.perform(&elsewhere).unwrap();
    assert_eq!(names(&bench.list("configmaps", ListOptions::default()).unwrap()), ["a"]);
    let mut all = bench.request("configmaps", None, Verb::List(ListOptions::default()));
    all.namespace = None;
    assert_eq!(names(&bench.perform(&all).unwrap().body), ["a", "b"]);
    all.verb = Verb::List(ListOptions { labels: Some("app=x".to_owned()), ..ListOptions::default() });
    assert_eq!(names(&bench.perform(&all).unwrap().body), ["b"]);
    all.metadata_only = true;
    let partial = bench.perform(&all).unwrap().body;
    assert_eq!(text(&partial, "/kind"), "PartialObjectMetadataList");
    assert_eq!((text(&partial, "/items/0/kind"), partial["items"][0].get("data")), ("PartialObjectMetadata", None));
}

#[test]
fn a_full_page_ends_a_list_only_if_nothing_follows_it() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("z", "1"));
    let mut body = config_map("a", "1");
    body["metadata"]["labels"] = json!({ "app": "x" });
    bench.create("configmaps", &body);
    let selected = ListOptions { labels: Some("app=x".to_owned()), ..page(1, None) };
    let list = bench.list("configmaps", selected.clone()).unwrap();
    assert_eq!(names(&list), ["a"]);
    let after = Some(text(&list, "/metadata/continue").to_owned());
    assert_ne!(after.as_deref(), Some(""), "an object follows, though none that is selected");
    let last = bench.list("configmaps", ListOptions { after, ..selected }).unwrap();
    assert_eq!((names(&last).len(), last["metadata"].get("continue")), (0, None));
    let named = ListOptions { fields: Some("metadata.name=a".to_owned()), ..page(1, None) };
    assert_eq!(bench.list("configmaps", named).unwrap()["metadata"].get("continue"), None);
}

#[test]
fn a_list_of_metadata_only_without_objects_has_no_items() {
    let mut bench = Bench::new();
    let list = bench.request("samples", None, Verb::List(ListOptions::default()));
    let list = ApiRequest { metadata_only: true, ..list };
    assert_eq!(bench.perform(&list).unwrap().body["items"], Value::Null);
}
