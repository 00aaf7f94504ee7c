//! Which members to query, and what responses mean.

use std::time::Duration;

use super::*;

const TIMEOUT: EtcdClientError = EtcdClientError::Timeout(Duration::from_secs(2));

fn response(pod: &str, status: Result<EndpointStatus, EtcdClientError>) -> MemberResponse {
    let status = status.map(|endpoint| Status { endpoint, term: 4, alarms: None });
    MemberResponse { pod: pod.into(), address: "10.0.0.1".into(), status }
}

fn member(member_id: u64, leader: u64) -> Result<EndpointStatus, EtcdClientError> {
    Ok(EndpointStatus { cluster_id: 1, member_id, leader, ..EndpointStatus::default() })
}

fn learner(member_id: u64, leader: u64) -> Result<EndpointStatus, EtcdClientError> {
    member(member_id, leader).map(|endpoint| EndpointStatus { learner: true, ..endpoint })
}

fn queried(responses: &[MemberResponse]) -> Result<Vec<&str>, String> {
    endpoints_to_query(responses, None).map(|able| able.iter().map(|(response, _)| &*response.pod).collect())
}

#[test]
fn the_leader_is_queried_first_and_learners_never() {
    let responses = [
        response("a", Err(TIMEOUT)),
        response("b", learner(2, 4)),
        response("c", member(3, 4)),
        response("d", member(4, 4)),
        response("e", member(5, 0)),
    ];
    assert_eq!(queried(&responses), Ok(vec!["d", "c"]));
}

#[test]
fn of_several_clusters_the_one_with_most_members_is_queried() {
    let stray = Ok(EndpointStatus { cluster_id: 9, member_id: 1, leader: 1, ..EndpointStatus::default() });
    let responses = [response("a", stray), response("b", member(2, 3)), response("c", member(3, 3))];
    assert_eq!(queried(&responses), Ok(vec!["c", "b"]));
}

#[test]
fn once_latched_no_other_cluster_is_queried_however_many_belong_to_it() {
    let other = |id| Ok(EndpointStatus { cluster_id: 9, member_id: id, leader: 1, ..EndpointStatus::default() });
    let responses = [response("a", other(1)), response("b", other(2)), response("c", member(3, 3))];
    let queried = |latched| endpoints_to_query(&responses, Some(latched)).map(|able| able.len());
    assert_eq!((queried(1), queried(9)), (Ok(1), Ok(2)));
    assert_eq!(queried(7), Err("a belongs to another cluster".to_owned()));
}

/// It has the same ids as before, and leads itself until the others reach it.
#[test]
fn a_member_that_bootstrapped_again_is_not_queried_if_others_have_a_later_term() {
    let mut outdated = response("a", member(1, 1));
    let Ok(status) = &mut outdated.status else { panic!() };
    status.term = 2;
    assert_eq!(
        queried(&[outdated.clone(), response("b", member(2, 2)), response("c", member(3, 2))]),
        Ok(vec!["b", "c"])
    );
    assert_eq!(queried(&[outdated.clone(), response("c", member(3, 2))]), Ok(vec!["c"]));
    let waits = response("c", member(3, 0));
    assert_eq!(queried(&[outdated.clone(), waits.clone()]), Ok(vec!["a"]), "its list shows whether it leads");
    let rejection = |members: &[u64]| {
        let responses = [outdated.clone(), waits.clone()];
        let members: Vec<_> = members.iter().map(|id| ListedMember { id: *id, ..ListedMember::default() }).collect();
        let (queried, status) = endpoints_to_query(&responses, None).unwrap()[0];
        list_rejection(&responses, (queried, status), &members)
    };
    assert!(
        rejection(&[1]).is_some_and(|why| why.contains("later election")),
        "the waiting member reports a later election"
    );
    assert_eq!(
        rejection(&[1, 2, 3]),
        None,
        "it leads one that does not answer, and the waiting member has been cut off"
    );
    let mut followed = outdated.clone();
    followed.address = "10.0.0.9".into();
    let mut follower = response("b", member(2, 1));
    if let Ok(status) = &mut follower.status {
        status.term = 2;
    }
    assert_eq!(
        queried(&[followed, follower, waits]),
        Ok(vec!["a", "b"]),
        "a candidate that was cut off does not count"
    );
    assert_eq!(queried(&[outdated, response("b", Err(TIMEOUT))]), Ok(vec!["a"]), "no other member answers");
}

#[test]
fn why_no_member_can_be_queried() {
    let why = |responses: &[MemberResponse]| queried(responses).unwrap_err();
    let denied = EtcdClientError::AuthRequired("user name is empty".to_owned());
    assert_eq!(why(&[response("a", Err(TIMEOUT))]), "no member answers");
    assert_eq!(why(&[response("a", Err(TIMEOUT)), response("b", learner(2, 1))]), "only learners answer");
    assert_eq!(why(&[response("a", Err(TIMEOUT)), response("b", member(2, 0))]), "no leader");
    assert_eq!(why(&[response("a", Err(denied))]), "a requires authentication: user name is empty");
}

#[test]
fn most_must_deny_for_authentication_to_be_the_cause() {
    let denied = || Err(EtcdClientError::AuthRequired("user name is empty".to_owned()));
    assert!(requires_auth(&[response("a", denied()), response("b", denied()), response("c", Err(TIMEOUT))]));
    assert!(!requires_auth(&[response("a", denied()), response("b", Err(TIMEOUT)), response("c", Err(TIMEOUT))]));
    assert!(!requires_auth(&[]));
}

#[test]
fn why_there_is_no_list() {
    assert_eq!(list_failure("a", &EtcdClientError::Refused), "a refuses connections");
    let failed = list_failure("a", &EtcdClientError::Rejected("request timed out".to_owned()));
    assert_eq!(failed, "a linearizable read through a failed: request timed out");
    let odd = EtcdClientError::Timeout(Duration::from_millis(1234));
    assert_eq!(list_failure("a", &odd), list_failure("a", &TIMEOUT));
}

#[test]
fn alarms_are_parsed_from_a_status() {
    let parsed = |error: &str| parse_alarms(&[error.to_owned()]);
    assert_eq!(parsed("memberID:10276657743932975437 alarm:NOSPACE "), [(10276657743932975437, Alarm::NoSpace)]);
    assert_eq!(parsed("memberID:1  alarm:CORRUPT"), [(1, Alarm::Corrupt)]);
    assert_eq!(parsed("etcdserver: no leader"), []);
    assert_eq!(parsed("memberID:1 alarm:OTHER"), []);
}

#[test]
fn which_versions_report_alarms() {
    assert!(["3.4.0", "3.6.16", "3.10.0-rc.1", "4.0.0"].iter().all(|version| reports_alarms(version)));
    assert!(["3.3.27", "3.2.1", ""].iter().all(|version| !reports_alarms(version)));
}
