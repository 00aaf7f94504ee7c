//! `etcd::Live` against real etcd processes of every minor version that the operator runs. `scripts/test --all servers`
//! unpacks the images of etcd into file trees and runs this with each. By hand:
//! `ETCD_TREE=<one of the folders that it prints> cargo test -p etcd-cluster --test live -- --ignored`

use std::net::TcpListener;
use std::time::{Duration, Instant};

use api::Reason;
use api::etcd_cluster::EtcdClusterReason;
use etcd_client::{AlarmAction, AlarmOptions, AlarmType};
use etcd_cluster::etcd::{EtcdClient, Live, Place};
use etcd_cluster::plan::{Alarm, Change, Endpoint, Etcd, EtcdAct, Member};

#[path = "live/process.rs"]
mod process;

use process::Process;

/// Looks until that is seen.
async fn until(live: &Live, places: &[Place], what: &str, mut seen: impl FnMut(&Etcd) -> bool) -> Etcd {
    let started = Instant::now();
    loop {
        let etcd = live.look(places, None).await;
        if seen(&etcd) {
            return etcd;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{what} is never seen: {etcd:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Looks until all members that there are have started and answer.
async fn until_up(live: &Live, places: &[Place]) -> Etcd {
    let named = |etcd: &Etcd| {
        let named = |members: &Vec<Member>| members.iter().filter(|member| !member.name.is_empty()).count();
        etcd.members.as_ref().is_ok_and(|members| named(members) == places.len() && members.len() == places.len())
            && etcd.endpoints.values().all(Result::is_ok)
    };
    until(live, places, "a cluster that is up", named).await
}

async fn act(live: &Live, via: &[&Process], change: Change) -> Result<(), Reason> {
    let via = via.iter().map(|process| process.host.as_str().into()).collect();
    live.act(EtcdAct { via, change }).await.map_err(|error| error.reason())
}

/// Acts when etcd takes changes again: not within seconds of the last one.
async fn once_healthy(live: &Live, via: &Process, change: &Change) -> Result<(), Reason> {
    let started = Instant::now();
    loop {
        let outcome = act(live, &[via], change.clone()).await;
        if outcome != Err(EtcdClusterReason::WaitingForEtcd.into()) || started.elapsed() > Duration::from_secs(30) {
            return outcome;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn endpoint<'a>(etcd: &'a Etcd, name: &str) -> Result<&'a Endpoint, &'a str> {
    etcd.endpoints[name].as_ref().map_err(String::as_str)
}

fn member(etcd: &Etcd, peer_url: &str) -> Option<Member> {
    etcd.members.as_ref().expect("a list").iter().find(|member| member.peer_urls == [peer_url]).cloned()
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_member_tells_of_itself_and_looking_writes_nothing() {
    let (a, live) = (Process::single("a"), Live::new());
    let etcd = until_up(&live, &[a.place()]).await;
    let told = endpoint(&etcd, "a").unwrap().clone();
    assert!(told.version.starts_with("3.") && told.cluster_id != 0 && told.db_size > 0, "{told:?}");
    assert!(told.leader == told.member_id && !told.learner && told.raft_index > 0, "{told:?}");
    assert_eq!(etcd.alarms, []);
    let listed = Member { id: told.member_id, name: "a".into(), peer_urls: vec![a.peer_url()], learner: false };
    assert_eq!(etcd.members, Ok(vec![listed]));
    assert_eq!(live.look(&[], None).await, Etcd::default());

    // Its first seconds are its own; from then on nobody writes, were it not for us. Only 3.3 and older have to be asked for
    // their alarms, and etcd answers that by an entry in its log.
    let asked = u64::from(["3.2.", "3.3."].iter().any(|old| told.version.starts_with(old)));
    let mut before = 0;
    until(&live, &[a.place()], "an index that stays", |etcd| {
        let now = endpoint(etcd, "a").unwrap().raft_index;
        now - std::mem::replace(&mut before, now) == asked
    })
    .await;
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_learner_is_listed_refused_and_removed() {
    let (a, b, live) = (Process::single("a"), Process::new("b"), Live::new());
    let voter = endpoint(&until_up(&live, &[a.place()]).await, "a").unwrap().member_id;
    let add = Change::Add { peer_url: b.peer_url(), learner: true };
    assert_eq!(act(&live, &[&b, &a], add.clone()).await, Ok(()), "through the one that can be reached");
    // In the same second etcd gives it the same id, and complains of that; later, of the URL.
    assert_eq!(act(&live, &[&a], add.clone()).await, Ok(()), "is made already");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(act(&live, &[&a], add).await, Ok(()), "is made already");
    let learner = member(&live.look(&[a.place()], None).await, &b.peer_url()).unwrap();
    assert!(learner.name.is_empty() && learner.learner, "{learner:?}");

    assert_eq!(
        act(&live, &[&a], Change::Promote { id: learner.id }).await,
        Err(EtcdClusterReason::LearnerNotInSync.into())
    );
    assert_eq!(act(&live, &[&a], Change::Promote { id: voter }).await, Ok(()), "votes already");
    let another = Change::Add { peer_url: "http://127.0.0.1:1".to_owned(), learner: true };
    assert_eq!(
        act(&live, &[&a], another).await,
        Err(EtcdClusterReason::WaitingForEtcd.into()),
        "one learner at a time"
    );
    for _ in 0..2 {
        assert_eq!(
            act(&live, &[&a], Change::Remove { id: learner.id, absent: Vec::new(), staying: Vec::new() }).await,
            Ok(())
        );
    }
    assert_eq!(member(&live.look(&[a.place()], None).await, &b.peer_url()), None);
    assert_eq!(
        act(&live, &[&b], Change::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }).await,
        Err(EtcdClusterReason::EtcdUnreachable.into())
    );
}

/// As members of 3.3 join, which has no learners.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_member_that_votes_at_once_is_added_and_removed() {
    let (a, mut b, live) = (Process::single("a"), Process::new("b"), Live::new());
    until_up(&live, &[a.place()]).await;
    let add = Change::Add { peer_url: b.peer_url(), learner: false };
    assert_eq!(act(&live, &[&a], add.clone()).await, Ok(()));
    (b.cluster, b.state) = (format!("{},{}", a.cluster, b.cluster), "existing");
    b.start();
    let etcd = until_up(&live, &[a.place(), b.place()]).await;
    assert!(!endpoint(&etcd, "b").unwrap().learner);
    assert_eq!(once_healthy(&live, &a, &add).await, Ok(()), "is made already");
    let id = member(&etcd, &b.peer_url()).unwrap().id;
    let remove = Change::Remove { id, absent: Vec::new(), staying: Vec::new() };
    for _ in 0..2 {
        assert_eq!(once_healthy(&live, &a, &remove).await, Ok(()));
    }
    let etcd = until(&live, &[a.place()], "a member less", |etcd| etcd.members.is_ok()).await;
    assert_eq!(member(&etcd, &b.peer_url()), None);
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_learner_that_has_caught_up_votes() {
    let (a, mut b, live) = (Process::single("a"), Process::new("b"), Live::new());
    until_up(&live, &[a.place()]).await;
    assert_eq!(act(&live, &[&a], Change::Add { peer_url: b.peer_url(), learner: true }).await, Ok(()));
    (b.cluster, b.state) = (format!("{},{}", a.cluster, b.cluster), "existing");
    b.start();
    let places = [b.place(), a.place()];
    let etcd = until_up(&live, &places).await;
    assert!(endpoint(&etcd, "b").unwrap().learner);
    let alone = live.look(&places[..1], None).await;
    assert_eq!(alone.members, Err("only learners answer".into()));

    let id = member(&etcd, &b.peer_url()).unwrap().id;
    while let Err(reason) = act(&live, &[&a], Change::Promote { id }).await {
        assert!(reason == EtcdClusterReason::LearnerNotInSync, "{reason}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until(&live, &places, "a vote", |etcd| endpoint(etcd, "b").is_ok_and(|b| !b.learner)).await;
    assert_eq!(act(&live, &[&a], Change::MoveLeader { to: id }).await, Ok(()));
    until(&live, &places, "a new leader", |etcd| endpoint(etcd, "b").is_ok_and(|b| b.leader == id)).await;
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn those_that_do_not_answer_are_told_apart() {
    let (a, dead, mute, live) = (Process::single("a"), Process::new("dead"), Process::new("mute"), Live::new());
    until_up(&live, &[a.place()]).await;
    let _mute = TcpListener::bind((mute.host.as_str(), 2379)).unwrap();
    let etcd = live.look(&[dead.place(), mute.place(), a.place()], None).await;
    assert_eq!(endpoint(&etcd, "dead"), Err("refuses connections"));
    assert_eq!(endpoint(&etcd, "mute"), Err("does not answer within 2 s"));
    assert_eq!(etcd.members.map(|members| members.len()), Ok(1));
    assert_eq!(
        act(&live, &[&mute, &dead, &a], Change::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }).await,
        Ok(())
    );
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_member_that_comes_back_answers_again() {
    let (mut a, live) = (Process::single("a"), Live::new());
    let places = [a.place()];
    let before = until_up(&live, &places).await;
    for _ in 0..2 {
        a.kill();
        let etcd = live.look(&places, None).await;
        assert_eq!(endpoint(&etcd, "a"), Err("refuses connections"));
        assert_eq!(etcd.members, Err("no member answers".into()));
        a.start();
        assert_eq!(until_up(&live, &places).await.members, before.members);
    }
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn without_quorum_there_is_no_list() {
    let (mut all, live) = (Process::cluster(["a", "b", "c"]), Live::new());
    let places = all.each_ref().map(Process::place);
    let etcd = until_up(&live, &places).await;
    let leader = endpoint(&etcd, "a").unwrap().leader;
    let leads = |name| endpoint(&etcd, name).unwrap().member_id == leader;
    all.sort_by_key(|process| !leads(process.name));
    let [lead, others @ ..] = &mut all;

    others.iter().for_each(Process::freeze);
    let started = Instant::now();
    let frozen = live.look(&places, None).await;
    assert!(started.elapsed() < Duration::from_millis(4600), "{:?}", started.elapsed());
    let why_not = format!("{} does not answer a linearizable read in time", lead.name);
    assert_eq!(frozen.members, Err(why_not));
    others.iter_mut().for_each(Process::kill);
    let etcd = until(&live, &places, "a lack of leader", |etcd| etcd.members == Err("no leader".into())).await;
    assert_eq!(endpoint(&etcd, lead.name).unwrap().leader, 0);
    assert_eq!(endpoint(&etcd, others[0].name), Err("refuses connections"));
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn alarms_are_told() {
    let (a, live) = (Process::single("a"), Live::new());
    let id = endpoint(&until_up(&live, &[a.place()]).await, "a").unwrap().member_id;
    let mut client = a.client().await;
    for (kind, told) in [(AlarmType::Nospace, Alarm::NoSpace), (AlarmType::Corrupt, Alarm::Corrupt)] {
        let mut options = AlarmOptions::new();
        options.with_member(id);
        client.alarm(AlarmAction::Activate, kind, Some(options.clone())).await.unwrap();
        let etcd = live.look(&[a.place()], None).await;
        assert_eq!((etcd.alarms, etcd.members.is_ok()), (vec![(id, told)], true));
        client.alarm(AlarmAction::Deactivate, kind, Some(options)).await.unwrap();
        assert_eq!(live.look(&[a.place()], None).await.alarms, []);
    }
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn authentication_is_not_taken_for_silence() {
    let (a, live) = (Process::single("a"), Live::new());
    until_up(&live, &[a.place()]).await;
    let mut client = a.client().await;
    client.user_add("root", "secret", None).await.unwrap();
    client.user_grant_role("root", "root").await.unwrap();
    client.auth_enable().await.unwrap();
    let etcd = live.look(&[a.place()], None).await;
    match endpoint(&etcd, "a") {
        // Before 3.6, and in the first releases of 3.5, only the read is denied, which proves quorum.
        Ok(_) => assert_eq!(etcd.members.map(|members| members.len()), Ok(1)),
        Err(why_not) => {
            assert_eq!(why_not, "demands authentication: user name is empty");
            assert_eq!(etcd.members, Err(format!("a {why_not}")));
        }
    }
    assert_eq!(
        act(&live, &[&a], Change::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }).await,
        Err(EtcdClusterReason::AuthenticationRequired.into())
    );
}
