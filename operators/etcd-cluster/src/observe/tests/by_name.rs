//! Objects that are read by name.

use super::*;

#[test]
fn a_members_pod_and_claim_that_are_not_in_the_stores_are_read_by_name() {
    let status = json!({ "clusterID": "1", "storage": { "durable": true } });
    let cluster = cluster(&json!({}), &status);
    let all = stores();
    put(&all.pods, &object("n", &first(), "u"));
    let mut queries = Fixed::new();
    let seen = observed(&all, &mut queries, &cluster);
    assert!(seen.claim_lookups.absent.contains(&*first()) && seen.claims.is_empty(), "{seen:?}");
    queries.unanswered = true;
    let seen = observed(&all, &mut queries, &cluster);
    assert!(seen.claim_lookups.absent.is_empty(), "unknown is not absent: {seen:?}");
    queries.unanswered = false;
    queries.live.insert(("PersistentVolumeClaim", first()), object("n", &first(), "u"));
    let seen = observed(&all, &mut queries, &cluster);
    assert_eq!(names_of(&seen.claims, |claim| &claim.meta.key.name), [first()]);
    queries.live.insert(
        ("PersistentVolumeClaim", first()),
        json!({ "metadata": { "namespace": "n", "name": first(),
        "uid": "x", "labels": { "multi-operator.example.com/owner-uid": "another",
        "multi-operator.example.com/cluster-id": "2" } }, "spec": {} }),
    );
    let seen = observed(&all, &mut queries, &cluster);
    assert!(seen.claim_lookups.foreign.contains(&*first()) && seen.claims.is_empty(), "{seen:?}");
}

#[test]
fn the_claim_of_a_member_that_only_etcd_lists_is_read_by_name() {
    let second = "c-bbbbbbbbbb";
    let status = json!({ "clusterID": "1", "storage": { "durable": true } });
    let etcd = || {
        let members = vec![plan::ListedMember { name: second.to_owned(), ..plan::ListedMember::default() }];
        RefCell::new(vec![Etcd { members: Ok(members), ..Etcd::default() }])
    };
    let mut queries = Fixed { etcd: etcd(), ..Fixed::new() };
    queries.live.insert(("PersistentVolumeClaim", second.to_owned()), object("n", second, "u"));
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &status));
    assert_eq!(names_of(&seen.claims, |claim| &claim.meta.key.name), [second]);
    let mut queries = Fixed { etcd: etcd(), ..Fixed::new() };
    let seen = observed(&stores(), &mut queries, &cluster(&json!({}), &status));
    assert!(seen.claim_lookups.absent.contains(second), "{seen:?}");
}

#[test]
fn a_foreign_pod_with_a_members_name_does_not_count() {
    let cluster = cluster(&json!({}), &json!({}));
    let mut queries = Fixed::new();
    queries.live.insert(("Pod", first()), object("n", &first(), "u"));
    let seen = observed(&stores(), &mut queries, &cluster);
    assert_eq!((names_of(&seen.pods, |pod| &pod.meta.key.name), seen.names_taken.len()), (vec![first()], 0));
    let earlier = object("n", &first(), "another");
    queries.live.insert(("Pod", first()), earlier.clone());
    let seen = observed(&stores(), &mut queries, &cluster);
    assert!(
        seen.pods.is_empty() && seen.names_taken.is_empty() && seen.names_terminating.contains(&*first()),
        "{seen:?}"
    );
    let mut foreign = earlier;
    foreign["metadata"]["ownerReferences"] = json!([]);
    queries.live.insert(("Pod", first()), foreign.clone());
    let seen = observed(&stores(), &mut queries, &cluster);
    assert!(
        seen.pods.is_empty() && seen.names_terminating.is_empty() && seen.names_taken.contains(&*first()),
        "{seen:?}"
    );
    foreign["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    queries.live.insert(("Pod", first()), foreign);
    let seen = observed(&stores(), &mut queries, &cluster);
    assert!(
        seen.pods.is_empty() && seen.names_taken.is_empty() && seen.names_terminating.contains(&*first()),
        "{seen:?}"
    );
}
