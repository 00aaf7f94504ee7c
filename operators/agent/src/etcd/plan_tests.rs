//! Every decision, by example.

use super::*;
use crate::etcd::members::tests::member;

const ALL: [Expect; 3] = [Expect::New, Expect::Join, Expect::Data];
const PASTS: [PreviousRun; 3] = [PreviousRun::None, PreviousRun::NothingKept, PreviousRun::HadData];
const OURS: &str = "http://c-1.c:2380";

fn url() -> PeerUrl {
    OURS.parse().unwrap()
}

fn identity(url: &PeerUrl) -> MemberIdentity<'_> {
    MemberIdentity { name: "c-1", url, data_dir: Path::new("/data") }
}

fn says(failure: &CommandFailure, part: &str) -> bool {
    failure.reason() == Reason::DataMissing && failure.message().contains(part)
}

#[test]
fn data_that_is_there_always_wins() {
    let url = url();
    for expect in ALL {
        assert_eq!(asks_cluster(&identity(&url), true, expect), Ok(false));
        for past in PASTS {
            assert_eq!(start(&identity(&url), true, expect, past), Ok(StartMode::OnData));
        }
    }
}

#[test]
fn only_a_joining_member_asks() {
    let url = url();
    assert_eq!(asks_cluster(&identity(&url), false, Expect::New), Ok(false));
    assert_eq!(asks_cluster(&identity(&url), false, Expect::Join), Ok(true));
}

#[test]
fn a_member_in_use_needs_its_data() {
    let url = url();
    let part = "member c-1 has been in use, and its data in /data is missing";
    assert!(says(&asks_cluster(&identity(&url), false, Expect::Data).unwrap_err(), part));
    for past in [PreviousRun::None, PreviousRun::NothingKept] {
        assert!(says(&start(&identity(&url), false, Expect::Data, past).unwrap_err(), part));
    }
}

#[test]
fn data_that_this_pod_had_is_not_created_again() {
    let url = url();
    for expect in ALL {
        let failure = start(&identity(&url), false, expect, PreviousRun::HadData).unwrap_err();
        assert!(says(&failure, "etcd has run in this pod before"));
    }
}

#[test]
fn a_start_that_came_to_nothing_is_tried_again() {
    let url = url();
    for past in [PreviousRun::None, PreviousRun::NothingKept] {
        assert_eq!(start(&identity(&url), false, Expect::New, past), Ok(StartMode::NewCluster));
        assert_eq!(start(&identity(&url), false, Expect::Join, past), Ok(StartMode::Join));
    }
}

#[test]
fn no_member_answers() {
    let why = |answers| listing(answers, &url()).to_string();
    assert_eq!(why(vec![]), "no member answers: there is no other pod");
    assert_eq!(why(vec![Err("refused".into()), Err("timeout".into())]), "no member answers: refused");
}

#[test]
fn one_answer_is_enough() {
    let other = member(1, "c-0", "http://c-0.c:2380");
    let both = vec![other.clone(), member(2, "", OURS)];
    let answers = vec![Err("refused".into()), Ok(vec![other.clone()]), Ok(both.clone())];
    assert_eq!(listing(answers, &url()), MembershipCheck::Listed(both));
    assert_eq!(listing(vec![Ok(vec![other])], &url()), MembershipCheck::NotListed);
}

#[test]
fn a_member_started_before_is_recognized_by_its_name() {
    let listed = listing(vec![Ok(vec![member(171, "c-1", OURS)])], &url());
    assert_eq!(listed, MembershipCheck::Started(member(171, "c-1", OURS)));
    let url = url();
    let failure = listed_members(&identity(&url), listed).unwrap_err();
    assert!(says(&failure, "the cluster lists http://c-1.c:2380 as c-1 (member ab), which has been started before"));
}

#[test]
fn a_disagreement_is_waited_out() {
    let answers = vec![Ok(vec![member(1, "c-1", OURS)]), Ok(vec![member(2, "", OURS)])];
    let listed = listing(answers, &url());
    assert_eq!(listed, MembershipCheck::Disagreement);
    let url = url();
    assert_eq!(listed_members(&identity(&url), listed), Ok(None));
    assert_eq!(listed_members(&identity(&url), MembershipCheck::NotListed), Ok(None));
    assert_eq!(listed_members(&identity(&url), MembershipCheck::NoAnswer(String::new())), Ok(None));
}

#[test]
fn arguments_for_a_first_start() {
    let url = url();
    assert_eq!(
        new_cluster_arguments(&identity(&url)),
        ["--initial-cluster=c-1=http://c-1.c:2380", "--initial-cluster-state=new"]
    );
    let members = [member(1, "c-0", "http://c-0.c:2380"), member(2, "", OURS)];
    assert_eq!(
        join_arguments(&identity(&url), &members),
        ["--initial-cluster=c-0=http://c-0.c:2380,c-1=http://c-1.c:2380", "--initial-cluster-state=existing"]
    );
}
