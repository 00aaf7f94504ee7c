//! `GrpcEtcdClient` against real etcd processes of every minor version that the operator runs. `scripts/test --all servers`
//! unpacks the images of etcd into file trees and runs this with each. By hand:
//! `ETCD_TREE=<one of the directories that it prints> cargo test -p etcd-cluster --test live -- --ignored`

use std::net::TcpListener;
use std::time::{Duration, Instant};

use api::Reason;
use api::etcd_cluster::EtcdClusterReason;
use etcd_client::{AlarmAction, AlarmOptions, AlarmType};
use etcd_cluster::etcd::{EtcdClient, GrpcEtcdClient, MemberEndpoint, RootPassword};
use etcd_cluster::plan::{Alarm, Authentication, EndpointStatus, Etcd, EtcdChange, ListedMember};

#[path = "live/process.rs"]
mod process;

use process::Process;

/// Queries until that is observed.
async fn until(
    client: &GrpcEtcdClient,
    endpoints: &[MemberEndpoint],
    what: &str,
    mut seen: impl FnMut(&Etcd) -> bool,
) -> Etcd {
    let started = Instant::now();
    loop {
        let etcd = client.query(endpoints, None).await;
        if seen(&etcd) {
            return etcd;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{what} is never observed: {etcd:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Queries until all these members have started and answer.
async fn until_up(client: &GrpcEtcdClient, endpoints: &[MemberEndpoint]) -> Etcd {
    let named = |etcd: &Etcd| {
        let named = |members: &Vec<ListedMember>| members.iter().filter(|member| !member.name.is_empty()).count();
        etcd.members.as_ref().is_ok_and(|members| named(members) == endpoints.len() && members.len() == endpoints.len())
            && etcd.endpoints.values().all(Result::is_ok)
    };
    until(client, endpoints, "a cluster that is up", named).await
}

async fn act(client: &GrpcEtcdClient, via: &[&Process], change: EtcdChange) -> Result<(), Reason> {
    let via: Vec<Box<str>> = via.iter().map(|process| process.host.as_str().into()).collect();
    client.act(&via, &change).await.map_err(|error| error.reason())
}

/// Retries a change until etcd accepts it: after another change, that takes seconds.
async fn once_healthy(client: &GrpcEtcdClient, via: &Process, change: &EtcdChange) -> Result<(), Reason> {
    let started = Instant::now();
    loop {
        let outcome = act(client, &[via], change.clone()).await;
        if outcome != Err(EtcdClusterReason::WaitingForEtcd.into()) || started.elapsed() > Duration::from_secs(30) {
            return outcome;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn endpoint<'a>(etcd: &'a Etcd, name: &str) -> Result<&'a EndpointStatus, &'a str> {
    etcd.endpoints[name].as_ref().map_err(String::as_str)
}

fn member(etcd: &Etcd, peer_url: &str) -> Option<ListedMember> {
    etcd.members.as_ref().expect("a list").iter().find(|member| member.peer_urls == [peer_url]).cloned()
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_member_reports_its_status_and_queries_write_nothing() {
    let (a, client) = (Process::single("a"), GrpcEtcdClient::new());
    let etcd = until_up(&client, &[a.endpoint()]).await;
    let reported = endpoint(&etcd, "a").unwrap().clone();
    assert!(reported.version.starts_with("3.") && reported.cluster_id != 0 && reported.db_size > 0, "{reported:?}");
    assert!(reported.leader == reported.member_id && !reported.learner && reported.raft_index > 0, "{reported:?}");
    assert_eq!(etcd.alarms, []);
    let listed =
        ListedMember { id: reported.member_id, name: "a".into(), peer_urls: vec![a.peer_url()], learner: false };
    assert_eq!(etcd.members, Ok(vec![listed]));
    assert_eq!(client.query(&[], None).await, Etcd::default());

    // In its first seconds etcd writes entries of its own. From then on, only the query of alarms writes one, with 3.3 and older.
    let queried = u64::from(["3.2.", "3.3."].iter().any(|old| reported.version.starts_with(old)));
    let mut before = 0;
    until(&client, &[a.endpoint()], "an index that stays", |etcd| {
        let now = endpoint(etcd, "a").unwrap().raft_index;
        now - std::mem::replace(&mut before, now) == queried
    })
    .await;
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_learner_is_listed_refused_and_removed() {
    let (a, b, client) = (Process::single("a"), Process::new("b"), GrpcEtcdClient::new());
    let voter = endpoint(&until_up(&client, &[a.endpoint()]).await, "a").unwrap().member_id;
    let add = EtcdChange::Add { peer_url: b.peer_url(), learner: true };
    assert_eq!(act(&client, &[&b, &a], add.clone()).await, Ok(()), "through the one that can be reached");
    // In the same second etcd gives it the same id, and complains of that; later, of the URL.
    assert_eq!(act(&client, &[&a], add.clone()).await, Ok(()), "was made before");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(act(&client, &[&a], add).await, Ok(()), "was made before");
    let learner = member(&client.query(&[a.endpoint()], None).await, &b.peer_url()).unwrap();
    assert!(learner.name.is_empty() && learner.learner, "{learner:?}");

    assert_eq!(
        act(&client, &[&a], EtcdChange::Promote { id: learner.id }).await,
        Err(EtcdClusterReason::LearnerNotInSync.into())
    );
    assert_eq!(act(&client, &[&a], EtcdChange::Promote { id: voter }).await, Ok(()), "votes already");
    let another = EtcdChange::Add { peer_url: "http://127.0.0.1:1".to_owned(), learner: true };
    assert_eq!(
        act(&client, &[&a], another).await,
        Err(EtcdClusterReason::WaitingForEtcd.into()),
        "one learner at a time"
    );
    for _ in 0..2 {
        assert_eq!(
            act(&client, &[&a], EtcdChange::Remove { id: learner.id, absent: Vec::new(), staying: Vec::new() }).await,
            Ok(())
        );
    }
    assert_eq!(member(&client.query(&[a.endpoint()], None).await, &b.peer_url()), None);
    assert_eq!(
        act(&client, &[&b], EtcdChange::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }).await,
        Err(EtcdClusterReason::EtcdUnreachable.into())
    );
}

/// As members of 3.3 join, which has no learners.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_member_that_votes_at_once_is_added_and_removed() {
    let (a, mut b, client) = (Process::single("a"), Process::new("b"), GrpcEtcdClient::new());
    until_up(&client, &[a.endpoint()]).await;
    let add = EtcdChange::Add { peer_url: b.peer_url(), learner: false };
    assert_eq!(act(&client, &[&a], add.clone()).await, Ok(()));
    (b.cluster, b.state) = (format!("{},{}", a.cluster, b.cluster), "existing");
    b.start();
    let etcd = until_up(&client, &[a.endpoint(), b.endpoint()]).await;
    assert!(!endpoint(&etcd, "b").unwrap().learner);
    assert_eq!(once_healthy(&client, &a, &add).await, Ok(()), "was made before");
    let id = member(&etcd, &b.peer_url()).unwrap().id;
    let remove = EtcdChange::Remove { id, absent: Vec::new(), staying: Vec::new() };
    for _ in 0..2 {
        assert_eq!(once_healthy(&client, &a, &remove).await, Ok(()));
    }
    let etcd = until(&client, &[a.endpoint()], "one member less", |etcd| etcd.members.is_ok()).await;
    assert_eq!(member(&etcd, &b.peer_url()), None);
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_learner_that_has_caught_up_votes() {
    let (a, mut b, client) = (Process::single("a"), Process::new("b"), GrpcEtcdClient::new());
    until_up(&client, &[a.endpoint()]).await;
    assert_eq!(act(&client, &[&a], EtcdChange::Add { peer_url: b.peer_url(), learner: true }).await, Ok(()));
    (b.cluster, b.state) = (format!("{},{}", a.cluster, b.cluster), "existing");
    b.start();
    let endpoints = [b.endpoint(), a.endpoint()];
    let etcd = until_up(&client, &endpoints).await;
    assert!(endpoint(&etcd, "b").unwrap().learner);
    let alone = client.query(&endpoints[..1], None).await;
    assert_eq!(alone.members, Err("only learners answer".into()));

    let id = member(&etcd, &b.peer_url()).unwrap().id;
    while let Err(reason) = act(&client, &[&a], EtcdChange::Promote { id }).await {
        assert!(reason == EtcdClusterReason::LearnerNotInSync, "{reason}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until(&client, &endpoints, "a vote", |etcd| endpoint(etcd, "b").is_ok_and(|b| !b.learner)).await;
    assert_eq!(act(&client, &[&a], EtcdChange::MoveLeader { to: id }).await, Ok(()));
    until(&client, &endpoints, "a new leader", |etcd| endpoint(etcd, "b").is_ok_and(|b| b.leader == id)).await;
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn failures_are_distinguished() {
    let (a, dead, mute, client) =
        (Process::single("a"), Process::new("dead"), Process::new("mute"), GrpcEtcdClient::new());
    until_up(&client, &[a.endpoint()]).await;
    let _mute = TcpListener::bind((mute.host.as_str(), 2379)).unwrap();
    let etcd = client.query(&[dead.endpoint(), mute.endpoint(), a.endpoint()], None).await;
    assert_eq!(endpoint(&etcd, "dead"), Err("refuses connections"));
    assert_eq!(endpoint(&etcd, "mute"), Err("does not answer within 2 s"));
    assert_eq!(etcd.members.map(|members| members.len()), Ok(1));
    assert_eq!(
        act(&client, &[&mute, &dead, &a], EtcdChange::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }).await,
        Ok(())
    );
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_restarted_member_answers_again() {
    let (mut a, client) = (Process::single("a"), GrpcEtcdClient::new());
    let endpoints = [a.endpoint()];
    let before = until_up(&client, &endpoints).await;
    for _ in 0..2 {
        a.kill();
        let etcd = client.query(&endpoints, None).await;
        assert_eq!(endpoint(&etcd, "a"), Err("refuses connections"));
        assert_eq!(etcd.members, Err("no member answers".into()));
        a.start();
        assert_eq!(until_up(&client, &endpoints).await.members, before.members);
    }
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn without_quorum_there_is_no_list() {
    let (mut all, client) = (Process::cluster(["a", "b", "c"]), GrpcEtcdClient::new());
    let endpoints = all.each_ref().map(Process::endpoint);
    let etcd = until_up(&client, &endpoints).await;
    let leader = endpoint(&etcd, "a").unwrap().leader;
    let leads = |name| endpoint(&etcd, name).unwrap().member_id == leader;
    all.sort_by_key(|process| !leads(process.name));
    let [lead, others @ ..] = &mut all;

    others.iter().for_each(Process::freeze);
    let started = Instant::now();
    let frozen = client.query(&endpoints, None).await;
    assert!(started.elapsed() < Duration::from_millis(4600), "{:?}", started.elapsed());
    let why_not = format!("a linearizable read through {} timed out", lead.name);
    assert_eq!(frozen.members, Err(why_not));
    others.iter_mut().for_each(Process::kill);
    let etcd = until(&client, &endpoints, "a lack of leader", |etcd| etcd.members == Err("no leader".into())).await;
    assert_eq!(endpoint(&etcd, lead.name).unwrap().leader, 0);
    assert_eq!(endpoint(&etcd, others[0].name), Err("refuses connections"));
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn alarms_are_reported() {
    let (a, client) = (Process::single("a"), GrpcEtcdClient::new());
    let id = endpoint(&until_up(&client, &[a.endpoint()]).await, "a").unwrap().member_id;
    let mut etcdctl = a.client().await;
    for (kind, reported) in [(AlarmType::Nospace, Alarm::NoSpace), (AlarmType::Corrupt, Alarm::Corrupt)] {
        let mut options = AlarmOptions::new();
        options.with_member(id);
        etcdctl.alarm(AlarmAction::Activate, kind, Some(options.clone())).await.unwrap();
        let etcd = client.query(&[a.endpoint()], None).await;
        assert_eq!((etcd.alarms, etcd.members.is_ok()), (vec![(id, reported)], true));
        etcdctl.alarm(AlarmAction::Deactivate, kind, Some(options)).await.unwrap();
        assert_eq!(client.query(&[a.endpoint()], None).await.alarms, []);
    }
}

#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn authentication_is_not_taken_for_silence() {
    let (a, client) = (Process::single("a"), GrpcEtcdClient::new());
    until_up(&client, &[a.endpoint()]).await;
    let mut etcdctl = a.client().await;
    etcdctl.user_add("root", "secret", None).await.unwrap();
    etcdctl.user_grant_role("root", "root").await.unwrap();
    etcdctl.auth_enable().await.unwrap();
    let etcd = client.query(&[a.endpoint()], None).await;
    match endpoint(&etcd, "a") {
        // Before 3.6, and in the first releases of 3.5, only the read is denied, which shows that there is quorum.
        Ok(_) => assert_eq!(etcd.members.map(|members| members.len()), Ok(1)),
        Err(why_not) => {
            assert_eq!(why_not, "requires authentication: user name is empty");
            assert_eq!(etcd.members, Err(format!("a {why_not}")));
        }
    }
    assert_eq!(
        act(&client, &[&a], EtcdChange::Remove { id: 1, absent: Vec::new(), staying: Vec::new() }).await,
        Err(EtcdClusterReason::AuthenticationRequired.into())
    );
}

/// Authentication is turned on and off by this client, which is root in between, and survives a restart of the member.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn root_reads_and_changes_what_requires_a_user() {
    let (mut a, client) = (Process::single("a"), GrpcEtcdClient::new());
    let with = |a: &Process, password| [MemberEndpoint { root: Some(RootPassword::new(password)), ..a.endpoint() }];
    let off = until_up(&client, &with(&a, "first")).await;
    assert_eq!(off.authentication, Authentication::Off);
    let set = |on| EtcdChange::SetAuthentication { on };
    for _ in 0..2 {
        // Another user has created root before.
        a.client().await.user_add("root", "of another", None).await.ok();
        assert_eq!(act(&client, &[&a], set(true)).await, Ok(()));
        let etcd = client.query(&with(&a, "first"), None).await;
        assert!(endpoint(&etcd, "a").is_ok() && !etcd.auth_required);
        assert_eq!((etcd.authentication, etcd.members.map(|members| members.len())), (Authentication::On, Ok(1)));
        assert!(a.client().await.get("key", None).await.is_err(), "a user is required");
        assert_eq!(act(&client, &[&a], EtcdChange::Fill { entries: 3 }).await, Ok(()));
        assert_eq!(act(&client, &[&a], EtcdChange::Touch).await, Ok(()));
        a.kill();
        a.start();
        until_up(&client, &with(&a, "first")).await;
        // The token that it had given is gone.
        assert_eq!(act(&client, &[&a], EtcdChange::Touch).await, Ok(()));
        let etcd = client.query(&with(&a, "wrong"), None).await;
        assert!(
            matches!(&etcd.authentication, Authentication::RootRejected(why) if !why.contains("wrong")),
            "{etcd:?}"
        );
        client.query(&with(&a, "first"), None).await;
        assert_eq!(act(&client, &[&a], set(false)).await, Ok(()));
        let off = client.query(&with(&a, "first"), None).await;
        assert_eq!(off.authentication, Authentication::Off, "{off:?}");
    }
}

/// A learner gives no tokens, so the client reaches it with that of the voter.
#[tokio::test]
#[ignore = "scripts/test --all servers"]
async fn a_learner_that_requires_a_user_is_seen_and_promoted() {
    let (a, mut b, client) = (Process::single("a"), Process::new("b"), GrpcEtcdClient::new());
    let root = |of: &Process| MemberEndpoint { root: Some(RootPassword::new("secret")), ..of.endpoint() };
    until_up(&client, &[root(&a)]).await;
    assert_eq!(act(&client, &[&a], EtcdChange::SetAuthentication { on: true }).await, Ok(()));
    assert_eq!(act(&client, &[&a], EtcdChange::Add { peer_url: b.peer_url(), learner: true }).await, Ok(()));
    (b.cluster, b.state) = (format!("{},{}", a.cluster, b.cluster), "existing");
    b.start();
    let both = [root(&a), root(&b)];
    let up = until(&client, &both, "the status of both", |etcd| etcd.endpoints.values().all(Result::is_ok)).await;
    let id = endpoint(&up, "b").expect("a status").member_id;
    if member(&up, &b.peer_url()).is_some_and(|member| member.learner) {
        assert_eq!(once_healthy(&client, &a, &EtcdChange::Promote { id }).await, Ok(()));
    }
    until(&client, &both, "two voters", |etcd| {
        etcd.members.as_ref().is_ok_and(|all| all.len() == 2 && all.iter().all(|member| !member.learner))
    })
    .await;
}
