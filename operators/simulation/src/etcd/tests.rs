use std::sync::Arc;

use agent_protocol::{AgentCommand as _, EtcdRun, EtcdWait, Expect, MemberArgs};
use etcd_cluster::etcd::{EtcdClient as _, EtcdClientError};
use etcd_cluster::plan::EtcdChange;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::actors::pods::program::{ContainerRun, Exit, ProgramState};
use crate::call_faults::CallRates;
use crate::random::Random;

/// Pods with volumes, and the etcd in them.
struct Bench {
    model: EtcdModel,
    programs: Box<dyn Programs>,
    now: Timestamp,
}

fn bench() -> Bench {
    let model = EtcdModel::new(Random::new(7));
    model.edit(|etcds| etcds.served.insert("http://data.team.svc:2380".to_owned()));
    Bench { programs: model.programs(), model, now: runtime::clock::now() }
}

fn member(name: &str, expect: Expect) -> MemberArgs {
    MemberArgs {
        name: name.to_owned(),
        peer_url: url(name),
        peers_url: Some("http://data.team.svc:2380".to_owned()),
        earlier_peers: Vec::new(),
        data_dir: "/var/etcd/data".into(),
        expect,
        peer_tls: None,
    }
}

fn url(name: &str) -> String {
    format!("http://{name}.data.team.svc:2380")
}

fn pod(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "uid": format!("pod-{name}"), "ownerReferences": [{ "kind": "EtcdCluster", "controller": true }] },
        "spec": { "volumes": [{ "name": "etcd-data", "persistentVolumeClaim": { "claimName": name } }] },
    })
}

impl Bench {
    /// Runs a command in the pod of that name.
    fn run(&mut self, name: &str, command: Vec<String>, image: &str, again: bool) -> ProgramState {
        let (pod, container) = (pod(name), json!({ "command": command }));
        let address = format!("ip of {name}");
        let run = ContainerRun {
            pod: &pod,
            container: &container,
            image,
            address: &address,
            object: &|_, name| Some(Arc::new(json!({ "metadata": { "uid": format!("volume of {name}") } }))),
        };
        if again { self.programs.state(&run) } else { self.programs.start(&run) }
    }

    fn wait(&mut self, name: &str, expect: Expect) -> ProgramState {
        let wait = EtcdWait { member: member(name, expect), ..EtcdWait::default() };
        self.run(name, wait.command("/agent"), "agent:1", false)
    }

    fn etcd(&mut self, name: &str, expect: Expect, version: &str, again: bool) -> ProgramState {
        let command = vec!["/usr/local/bin/etcd".to_owned(), "--initial-cluster-token=token".to_owned()];
        let of =
            EtcdRun { state: "/multi-operator".into(), member: member(name, expect), command, ..EtcdRun::default() };
        self.run(name, of.command("/multi-operator/agent"), &format!("etcd:v{version}"), again)
    }

    fn start(&mut self, name: &str, expect: Expect) -> ProgramState {
        self.etcd(name, expect, "3.5.35", false)
    }

    fn stop(&mut self, name: &str, user: &str) {
        self.model.edit(|etcds| etcds.stop(&format!("pod-{name}"), user));
    }

    fn pass(&mut self, seconds: i64) {
        self.now = self.now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        self.model.lock().etcds.advance(self.now);
    }

    fn change(&mut self, via: &str, change: &EtcdChange) -> Result<(), EtcdClientError> {
        self.model.edit(|etcds| etcds.change(&format!("pod-{via}"), change))
    }

    fn violations(&self) -> Vec<String> {
        self.model.edit(|etcds| etcds.violations.clone())
    }

    /// A cluster of these members.
    fn grow(&mut self, names: &[&str]) {
        let (first, others) = names.split_first().unwrap();
        self.start(first, Expect::New);
        self.pass(10);
        for name in others {
            let added = self.change(first, &EtcdChange::Add { peer_url: url(name), learner: true });
            assert_eq!(added, Ok(()));
            self.pass(1);
            assert!(matches!(self.wait(name, Expect::Join), ProgramState::Ended(Exit { code: 0, .. })));
            self.start(name, Expect::Join);
            self.model.edit(|etcds| etcds.served.clear());
            self.model.edit(|etcds| etcds.served.insert("http://data.team.svc:2380".to_owned()));
            // An entry after the snapshot, in worlds in which clients are idle.
            self.change(first, &EtcdChange::Fill { entries: 1 }).unwrap();
            self.pass(20);
            let id = self.id(name);
            assert_eq!(self.change(first, &EtcdChange::Promote { id }), Ok(()));
            self.pass(10);
        }
        assert_eq!(self.violations(), Vec::<String>::new());
    }

    fn id(&self, name: &str) -> u64 {
        self.model.edit(|etcds| etcds.data(&format!("pod-{name}")).map_or(0, |data| data.member))
    }
}

fn code(state: &ProgramState) -> Option<i64> {
    match state {
        ProgramState::Ended(exit) => Some(exit.code),
        _ => None,
    }
}

#[test]
fn a_cluster_grows_by_learners_and_all_voters_are_ready() {
    let mut bench = bench();
    assert_eq!(bench.wait("a", Expect::Join), ProgramState::Running { ready: false }, "no one lists it");
    bench.grow(&["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        assert_eq!(bench.etcd(name, Expect::Data, "3.5.35", true), ProgramState::Running { ready: true }, "{name}");
    }
    let url = url("d");
    assert_eq!(bench.change("a", &EtcdChange::Add { peer_url: url.clone(), learner: true }), Ok(()));
    let again = bench.change("a", &EtcdChange::Add { peer_url: url, learner: true });
    assert_eq!(again, Err(EtcdClientError::Rejected("Peer URLs already exists".to_owned())));
}

#[test]
fn a_member_whose_data_is_missing_does_not_start() {
    let mut bench = bench();
    bench.grow(&["a", "b", "c"]);
    bench.stop("c", "user");
    bench.model.edit(|etcds| etcds.volumes.remove("volume of c"));
    bench.programs.forget("pod-c");
    for expect in [Expect::Data, Expect::Join] {
        assert_eq!(code(&bench.wait("c", expect)), Some(3), "{expect}");
        assert_eq!(code(&bench.start("c", expect)), Some(3), "{expect}");
    }
    assert_eq!(bench.violations(), Vec::<String>::new());
}

#[test]
fn lost_writes_and_second_clusters_are_noted() {
    let mut bench = bench();
    bench.grow(&["a", "b", "c"]);
    bench.model.edit(|etcds| {
        etcds.volumes.values_mut().for_each(|data| data.index = 1);
        etcds.clusters.values_mut().for_each(|cluster| cluster.leader = 0);
    });
    bench.pass(10);
    let found = bench.violations();
    assert!(found.iter().any(|what| what.contains("acknowledged writes are lost")), "{found:?}");
    bench.start("d", Expect::New);
    let found = bench.violations();
    assert!(found.iter().any(|what| what.contains("begins a second cluster")), "{found:?}");
}

#[test]
fn a_manager_that_stops_a_majority_is_noted_and_users_are_not() {
    for (user, count) in [("manager-0", 1), ("user", 0)] {
        let mut bench = bench();
        bench.grow(&["a", "b", "c"]);
        bench.stop("a", user);
        bench.pass(5);
        bench.start("a", Expect::Data);
        bench.pass(5);
        bench.stop("b", user);
        assert_eq!(bench.violations(), Vec::<String>::new(), "one after the other");
        bench.stop("c", user);
        assert_eq!(bench.violations().len(), count, "{:?}", bench.violations());
    }
}

#[test]
fn removed_members_end_and_versions_follow_the_rules_of_etcd() {
    let mut bench = bench();
    bench.grow(&["a", "b", "c"]);
    let remove = EtcdChange::Remove { id: bench.id("c"), absent: Vec::new(), staying: Vec::new() };
    assert_eq!(bench.change("a", &remove), Ok(()));
    bench.pass(5);
    assert_eq!(code(&bench.etcd("c", Expect::Data, "3.5.35", true)), Some(0));
    bench.stop("b", "user");
    assert_eq!(code(&bench.etcd("b", Expect::Data, "3.4.40", false)), Some(1), "no downgrade");
    assert_eq!(bench.violations(), Vec::<String>::new());
    bench.etcd("b", Expect::Data, "3.7.0", false);
    assert!(bench.violations()[0].contains("starts version 3.7.0"), "{:?}", bench.violations());
}

#[test]
fn a_killed_process_ends_and_is_counted() {
    let mut bench = bench();
    bench.grow(&["a"]);
    assert_eq!(bench.model.kill(4).as_deref(), Some("a"));
    assert_eq!(code(&bench.etcd("a", Expect::Data, "3.5.35", true)), Some(137));
    assert_eq!(bench.model.kill(4), None);
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_answer_is_lost_takes_effect_and_one_that_is_lost_does_not() {
    for (rates, takes_effect) in [
        (CallRates { answer_lost: 1000, ..CallRates::NONE }, true),
        (CallRates { request_lost: 1000, ..CallRates::NONE }, false),
    ] {
        let mut bench = bench();
        bench.grow(&["a", "b", "c"]);
        let (from, to) = (bench.id("a"), bench.id("b"));
        bench.model.edit(|etcds| etcds.clusters.values_mut().for_each(|cluster| cluster.leader = from));
        let client = bench.model.client();
        let endpoints = ["ip of gone".into(), "ip of a".into()];
        client.act(&endpoints, &EtcdChange::MoveLeader { to }).await.unwrap();
        let leader = || bench.model.edit(|etcds| etcds.clusters.values().next().map_or(0, |cluster| cluster.leader));
        assert_eq!(leader(), to);
        // The probe of a member has to be answered before a change is sent to it.
        bench.model.edit(|etcds| etcds.clusters.values_mut().for_each(|cluster| cluster.leader = from));
        bench.model.set_rates(rates);
        let change = EtcdChange::MoveLeader { to };
        let timeout = std::time::Duration::from_secs(5);
        let sent = client.call("ip of a", timeout, |etcds, pod| etcds.change(pod, &change)).await;
        assert!(sent.is_err());
        assert_eq!(leader() == to, takes_effect);
    }
}
