use futures::FutureExt;
use http_body_util::BodyExt;

use super::*;

fn page(page: &Page) -> Result<(u16, String), ApiError> {
    let response = answer(page, &Kinds::all())?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().now_or_never().unwrap().unwrap().to_bytes();
    Ok((code, String::from_utf8(body.to_vec()).unwrap()))
}

fn json_of(asked: &Page) -> Value {
    let (code, body) = page(asked).unwrap();
    assert_eq!(code, 200);
    serde_json::from_str(&body).unwrap()
}

fn resources_of(group: &str, version: &str) -> Page {
    Page::Resources { group: group.to_owned(), version: version.to_owned() }
}

#[test]
fn the_server_is_well_and_has_a_version() {
    assert_eq!(page(&Page::Health), Ok((200, "ok".to_owned())));
    assert_eq!(json_of(&Page::Version)["major"], "1");
}

#[test]
fn the_kinds_of_a_group_can_be_created_and_have_their_subresources() {
    let served = json_of(&resources_of("apps", "v1"));
    assert_eq!(served["groupVersion"], "apps/v1");
    let find = |name: &str| served["resources"].as_array().unwrap().iter().find(|resource| resource["name"] == name);
    let deployments = find("deployments").unwrap();
    assert!(deployments["verbs"].as_array().unwrap().contains(&json!("create")));
    assert_eq!((&deployments["kind"], &deployments["namespaced"]), (&json!("Deployment"), &json!(true)));
    assert!(find("deployments/status").is_some());
    assert_eq!(json_of(&resources_of("", "v1"))["groupVersion"], "v1");
}

#[test]
fn a_group_that_is_not_served_is_unknown() {
    for missing in [resources_of("gateway.networking.k8s.io", "v1"), resources_of("apps", "v2")] {
        assert_eq!(page(&missing), Err(page_not_found()));
    }
    let open_api = Page::OpenApi { group: "apps".to_owned(), version: "v1".to_owned() };
    assert_eq!(page(&open_api).unwrap_err().code, 501, "schemas of built-in kinds are not modelled");
}

#[test]
fn the_published_schema_of_each_custom_kind_names_its_kind_and_its_paths() {
    let kinds = Kinds::all();
    let custom: Vec<&Kind> = kinds.iter().map(|(_, kind)| kind).filter(|kind| kind.schema.is_some()).collect();
    assert!(!custom.is_empty());
    for kind in custom {
        let document = json_of(&Page::OpenApi { group: kind.group.clone(), version: kind.version.clone() });
        let path = format!("/apis/{}/{}/namespaces/{{namespace}}/{}", kind.group, kind.version, kind.plural);
        assert!(document["paths"].get(&path).is_some(), "{path}");
        assert_eq!(document["paths"].get(format!("{path}/{{name}}/status")).is_some(), kind.status);
        let named = json!([{ "group": kind.group, "version": kind.version, "kind": kind.kind }]);
        let mut schemas = document["components"]["schemas"].as_object().unwrap().values();
        let schema = schemas.find(|schema| schema["x-kubernetes-group-version-kind"] == named).unwrap();
        assert!(schema["properties"]["status"].is_object(), "{schema}");
    }
}
