//! Classes and messages of failures.

use super::*;

#[test]
fn a_child_that_does_not_match_its_schema_waits_for_an_edit() {
    for (what, undeclared) in [
        (".spec.metrics[0].oops: field not declared in schema", true),
        (".spec.metrics[0].resource.target.averageUtilization: expected numeric (int or float), got string", false),
        (".spec.template.spec.containers[name=\"x\"].env: duplicate entries for key [name=\"A\"]", false),
    ] {
        let message = format!("failed to create typed patch object (n/a; apps/v1, Kind=Deployment): {what}");
        let status = kube::core::Status::failure(&message, "InternalError").with_code(500);
        let error = Error::from(kube::Error::Api(status.boxed()));
        assert_eq!(error.is_undeclared_field(), undeclared);
        assert!(matches!(error.of_child(), Error::Invalid { reason, .. } if reason.as_str() == "Rejected"), "{what}");
    }
    let other = Error::transient(api::ReconcileReason::Timeout, "it took long");
    assert_eq!(other.clone().of_child(), other);
}

fn refused(message: &str) -> Error {
    let status = kube::core::Status::failure(message, "Forbidden").with_code(403);
    Error::from(kube::Error::Api(status.boxed()))
}

#[test]
fn an_object_that_is_too_large_waits_for_an_edit_whatever_the_code() {
    for (code, message) in [
        (413, "Request entity too large: limit is 3145728"),
        (413, "the message of a proxy"),
        (400, "Request entity too large: limit is 3145728"),
        (500, "etcdserver: request is too large"),
        (
            500,
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2098150 vs. 2097152)",
        ),
    ] {
        let status = kube::core::Status::failure(message, "Unknown").with_code(code);
        let error = Error::from(kube::Error::Api(status.boxed())).about("Deployment", "web", 1_700_001);
        assert_eq!((error.class(), &*error.reason(), error.stalled()), ("Invalid", "TooLarge", true), "{message}");
        let reported = error.to_string();
        assert!(reported.starts_with("Deployment web (1661 KiB): ") && reported.ends_with(message), "{reported}");
        assert!(reported.contains("reduce the spec"), "{reported}");
    }
    let status = kube::core::Status::failure("etcdserver: leader changed", "Unknown").with_code(500);
    assert_eq!(Error::from(kube::Error::Api(status.boxed())).class(), "Transient");
}

#[test]
fn an_unreadable_response_needs_attention() {
    let error = serde_json::from_str::<u8>("{}").map_err(kube::Error::SerdeError).unwrap_err();
    let error = Error::from(error);
    assert!(error.reason() == ReconcileReason::Unreadable && error.stalled(), "{error}");
}

#[test]
fn an_owner_of_a_new_crd_is_waited_for_and_no_missing_permission() {
    let error = refused(
        "configmaps \"a\" is forbidden: cannot set blockOwnerDeletion in this case because cannot find RESTMapping for \
         APIVersion example.com/v1alpha1 Kind Sample: no matches for kind \"Sample\" in version \"example.com/v1alpha1\"",
    );
    assert_eq!(error.reason(), ReconcileReason::OwnerKindUnknown);
    assert!(!error.stalled());
}

#[test]
fn an_owner_whose_finalizers_may_not_be_set_is_a_missing_permission() {
    let error = refused(
        "configmaps \"a\" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't \
         set finalizers on: , <nil>",
    );
    assert_eq!(error.reason(), ReconcileReason::Forbidden);
    assert!(error.stalled());
}
