use serde_json::json;

use super::super::kinds::Kinds;
use super::*;

#[test]
fn refusals_have_the_words_of_the_api_server() {
    let kinds = Kinds::all();
    let kind = |plural| kinds.plural(plural).and_then(|id| kinds.get(id)).unwrap();
    assert_eq!(not_found(kind("deployments"), "x").message, r#"deployments.apps "x" not found"#);
    assert_eq!(already_exists(kind("pods"), "x").message, r#"pods "x" already exists"#);
    assert_eq!(
        conflict(&kind("leases").resource(), "x", OBJECT_MODIFIED).message,
        "Operation cannot be fulfilled on leases.coordination.k8s.io \"x\": the object has been modified; please apply your \
         changes to the latest version and try again"
    );
    let one = invalid(kind("deployments"), "x", vec![required("spec.selector", "")]);
    assert_eq!((one.code, &*one.message), (422, r#"Deployment.apps "x" is invalid: spec.selector: Required value"#));
    let two = vec![invalid_value("spec.a", &json!("b"), "no"), forbidden_field("spec.c", "never")];
    assert_eq!(
        invalid(kind("pods"), "x", two).message,
        r#"Pod "x" is invalid: [spec.a: Invalid value: "b": no, spec.c: Forbidden: never]"#
    );
}

#[test]
fn what_the_model_lacks_is_no_answer_of_an_api_server() {
    assert_eq!(unmodelled("a watch").code, UNMODELLED);
    assert!(unmodelled("a watch").message.contains("a watch"));
}
