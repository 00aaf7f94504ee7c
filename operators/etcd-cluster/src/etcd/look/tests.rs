//! Whom to ask, and what answers mean.

use std::time::Duration;

use super::*;

const SILENT: Fault = Fault::Silent(Duration::from_secs(2));

fn answer(pod: &str, status: Result<Endpoint, Fault>) -> Answer {
    let status = status.map(|endpoint| Status { endpoint, term: 4, alarms: None });
    Answer { pod: pod.into(), address: "10.0.0.1".into(), status }
}

fn member(member_id: u64, leader: u64) -> Result<Endpoint, Fault> {
    Ok(Endpoint { cluster_id: 1, member_id, leader, ..Endpoint::default() })
}

fn learner(member_id: u64, leader: u64) -> Result<Endpoint, Fault> {
    member(member_id, leader).map(|endpoint| Endpoint { learner: true, ..endpoint })
}

fn asked(answers: &[Answer]) -> Result<Vec<&str>, String> {
    whom_to_ask(answers, None).map(|able| able.iter().map(|(answer, _)| &*answer.pod).collect())
}

#[test]
fn the_leader_is_asked_first_and_learners_never() {
    let answers = [
        answer("a", Err(SILENT)),
        answer("b", learner(2, 4)),
        answer("c", member(3, 4)),
        answer("d", member(4, 4)),
        answer("e", member(5, 0)),
    ];
    assert_eq!(asked(&answers), Ok(vec!["d", "c"]));
}

#[test]
fn of_several_clusters_the_one_with_most_members_is_asked() {
    let stray = Ok(Endpoint { cluster_id: 9, member_id: 1, leader: 1, ..Endpoint::default() });
    let answers = [answer("a", stray), answer("b", member(2, 3)), answer("c", member(3, 3))];
    assert_eq!(asked(&answers), Ok(vec!["c", "b"]));
}

#[test]
fn once_latched_no_other_cluster_is_asked_however_many_belong_to_it() {
    let other = |id| Ok(Endpoint { cluster_id: 9, member_id: id, leader: 1, ..Endpoint::default() });
    let answers = [answer("a", other(1)), answer("b", other(2)), answer("c", member(3, 3))];
    let asked = |latched| whom_to_ask(&answers, Some(latched)).map(|able| able.len());
    assert_eq!((asked(1), asked(9)), (Ok(1), Ok(2)));
    assert_eq!(asked(7), Err("a answers as of another cluster".to_owned()));
}

/// It has the same ids as before, and leads itself until the others reach it.
#[test]
fn a_member_that_began_anew_is_not_asked_beside_those_of_a_later_term() {
    let mut anew = answer("a", member(1, 1));
    let Ok(status) = &mut anew.status else { panic!() };
    status.term = 2;
    assert_eq!(asked(&[anew.clone(), answer("b", member(2, 2)), answer("c", member(3, 2))]), Ok(vec!["b", "c"]));
    assert_eq!(asked(&[anew.clone(), answer("c", member(3, 2))]), Ok(vec!["c"]));
    let waits = answer("c", member(3, 0));
    assert_eq!(asked(&[anew.clone(), waits.clone()]), Ok(vec!["a"]), "its list tells");
    let why_not = |members: &[u64]| {
        let answers = [anew.clone(), waits.clone()];
        let members: Vec<_> = members.iter().map(|id| Member { id: *id, ..Member::default() }).collect();
        let (asked, status) = whom_to_ask(&answers, None).unwrap()[0];
        why_not_the_list(&answers, (asked, status), &members)
    };
    assert!(why_not(&[1]).is_some_and(|why| why.contains("later election")), "who waits knows better");
    assert_eq!(why_not(&[1, 2, 3]), None, "it leads one that does not answer, and who waits has been cut off");
    let mut followed = anew.clone();
    followed.address = "10.0.0.9".into();
    let mut follower = answer("b", member(2, 1));
    if let Ok(status) = &mut follower.status {
        status.term = 2;
    }
    assert_eq!(
        asked(&[followed, follower, waits]),
        Ok(vec!["a", "b"]),
        "a candidate that was cut off counts for nothing"
    );
    assert_eq!(asked(&[anew, answer("b", Err(SILENT))]), Ok(vec!["a"]), "nobody knows better");
}

#[test]
fn why_nobody_can_be_asked() {
    let why = |answers: &[Answer]| asked(answers).unwrap_err();
    let denied = Fault::Denied("user name is empty".to_owned());
    assert_eq!(why(&[answer("a", Err(SILENT))]), "no member answers");
    assert_eq!(why(&[answer("a", Err(SILENT)), answer("b", learner(2, 1))]), "only learners answer");
    assert_eq!(why(&[answer("a", Err(SILENT)), answer("b", member(2, 0))]), "no leader");
    assert_eq!(why(&[answer("a", Err(denied))]), "a demands authentication: user name is empty");
}

#[test]
fn most_must_deny_for_authentication_to_be_the_cause() {
    let denied = || Err(Fault::Denied("user name is empty".to_owned()));
    assert!(is_denied(&[answer("a", denied()), answer("b", denied()), answer("c", Err(SILENT))]));
    assert!(!is_denied(&[answer("a", denied()), answer("b", Err(SILENT)), answer("c", Err(SILENT))]));
    assert!(!is_denied(&[]));
}

#[test]
fn why_there_is_no_list() {
    assert_eq!(why_no_list("a", &Fault::Refused), "a refuses connections");
    let said = why_no_list("a", &Fault::Said("request timed out".to_owned()));
    assert_eq!(said, "a answers a linearizable read with: request timed out");
    let odd = Fault::Silent(Duration::from_millis(1234));
    assert_eq!(why_no_list("a", &odd), why_no_list("a", &SILENT));
}

#[test]
fn alarms_are_told_in_a_status() {
    let told = |error: &str| told_alarms(&[error.to_owned()]);
    assert_eq!(told("memberID:10276657743932975437 alarm:NOSPACE "), [(10276657743932975437, Alarm::NoSpace)]);
    assert_eq!(told("memberID:1  alarm:CORRUPT"), [(1, Alarm::Corrupt)]);
    assert_eq!(told("etcdserver: no leader"), []);
    assert_eq!(told("memberID:1 alarm:OTHER"), []);
}

#[test]
fn which_versions_tell_alarms() {
    assert!(["3.4.0", "3.6.16", "3.10.0-rc.1", "4.0.0"].iter().all(|version| tells_alarms(version)));
    assert!(["3.3.27", "3.2.1", ""].iter().all(|version| !tells_alarms(version)));
}
