use serde_json::json;

use super::*;

fn of_labels(text: &str) -> Result<CollectionSelector, ApiError> {
    CollectionSelector::parse(&ListOptions { labels: Some(text.to_owned()), ..ListOptions::default() })
}

fn of_fields(text: &str) -> Result<CollectionSelector, ApiError> {
    CollectionSelector::parse(&ListOptions { fields: Some(text.to_owned()), ..ListOptions::default() })
}

#[test]
fn labels_are_selected_by_value_and_by_existence() {
    let object = json!({ "metadata": { "labels": { "app": "a", "example.com/tier": "web", "empty": "" } } });
    for (text, expected) in [
        ("app=a", true),
        ("app==a", true),
        ("app = a , example.com/tier=web", true),
        ("app=a,example.com/tier=db", false),
        ("app!=a", false),
        ("other!=a", true),
        ("app in (b, a),example.com/tier", true),
        ("app in (b)", false),
        ("app notin (b,c)", true),
        ("other notin (b)", true),
        ("app notin (a)", false),
        ("empty=", true),
        ("app", true),
        ("other", false),
        ("!other", true),
        ("!app", false),
        ("", true),
    ] {
        assert_eq!(of_labels(text).unwrap().matches(&object), expected, "{text}");
    }
    assert!(!of_labels("app").unwrap().matches(&json!({})), "an object without labels");
}

#[test]
fn names_and_namespaces_are_selected() {
    let object = json!({ "metadata": { "name": "a", "namespace": "n" } });
    assert!(of_fields("metadata.name=a,metadata.namespace=n").unwrap().matches(&object));
    assert!(!of_fields("metadata.name=b").unwrap().matches(&object));
    assert!(!of_fields("metadata.name!=a").unwrap().matches(&object));
}

#[test]
fn what_cannot_be_read_is_refused() {
    for text in ["app in a", "app in (a", "app near (a)", "a b", "=a", "app>1"] {
        assert_eq!(of_labels(text).map_err(|error| error.code), Err(400), "{text}");
    }
    assert_eq!(of_fields("metadata.name").map_err(|error| error.code), Err(400));
    assert_eq!(of_fields("spec.nodeName=a").map_err(|error| error.code), Err(501), "the model lacks it");
}
