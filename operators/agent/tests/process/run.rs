//! `agent etcd-run`, as etcd's container runs it at each of its starts; etcd is `echo`, or a shell.

use std::process::Output;

use crate::support::{Member, NOT_STARTED, Pod, STARTED, list, stderr, stdout};

const NEW: &str = "--name=c-1 --initial-cluster=c-1=http://localhost:2380 --initial-cluster-state=new";
const JOINED: &str = "--name=c-1 --initial-cluster=c-0=http://c-0.c:2380,c-1=http://localhost:2380 \
                      --initial-cluster-state=existing";

/// A start of the container: what etcd was started with, or the exit code.
fn start(pod: &Pod, expect: &str, member: Option<&Member>) -> Result<String, i32> {
    let mut command = pod.command("etcd-run", expect);
    if let Some(member) = member {
        command.args(["--peers-url", &member.url]);
    }
    let output: Output = command.args(["--", "/bin/echo", "--name=c-1"]).output().unwrap();
    match output.status.code() {
        Some(0) => Ok(stdout(&output).to_owned()),
        code => Err(code.unwrap_or_else(|| panic!("{}", stderr(&output)))),
    }
}

fn started(arguments: &str) -> Result<String, i32> {
    Ok(arguments.to_owned())
}

#[test]
fn a_first_member_begins_a_cluster() {
    let pod = Pod::new("run-new");
    assert_eq!(start(&pod, "new", None), started(NEW));
    assert!(pod.path("state/started").exists());
}

#[test]
fn a_joining_member_gets_the_members() {
    let pod = Pod::new("run-join");
    let member = Member::answering(&[&list(""), &list(NOT_STARTED)]);
    assert_eq!(start(&pod, "join", Some(&member)), started(JOINED));
    assert_eq!(member.requests().len(), 2, "the first answer did not list it");
}

#[test]
fn a_joining_member_that_was_started_before_is_not_started() {
    let pod = Pod::new("run-started");
    let member = Member::answering(&[&list(STARTED)]);
    assert_eq!(start(&pod, "join", Some(&member)), Err(3));
    assert_eq!(pod.termination_message().0, "DataMissing");
    assert!(!pod.path("state/started").exists());
}

#[test]
fn on_data_etcd_gets_its_own_arguments_only() {
    let pod = Pod::new("run-data");
    pod.create_data();
    let member = Member::answering(&[&list(STARTED)]);
    for expect in ["new", "join", "data"] {
        assert_eq!(start(&pod, expect, Some(&member)), started("--name=c-1"), "{expect}");
    }
    assert_eq!(member.requests().len(), 0);
}

/// A copy of a volume, in another namespace: etcd would take part in the cluster that it was copied from.
#[test]
fn data_of_a_member_elsewhere_is_not_started() {
    let pod = Pod::new("run-elsewhere");
    pod.create_data();
    let start = |namespace: &str| {
        let url = format!("http://c-1.c.{namespace}.svc:2380");
        pod.command("etcd-run", "data").args(["--peer-url", &url, "--", "/bin/echo"]).output().unwrap().status.code()
    };
    assert_eq!(start("here"), Some(0), "the member is recorded");
    assert_eq!(start("elsewhere"), Some(1));
    let (reason, message) = pod.termination_message();
    assert_eq!(reason, "ForeignData");
    assert!(message.contains("http://c-1.c.here.svc:2380"), "{message}");
    assert_eq!(start("here"), Some(0));
}

#[test]
fn a_member_in_use_needs_its_data() {
    let pod = Pod::new("run-lost");
    assert_eq!(start(&pod, "data", None), Err(3));
    let (reason, message) = pod.termination_message();
    assert_eq!(reason, "DataMissing");
    assert!(message.contains("member c-1 has been in use"), "{message}");
}

#[test]
fn data_lost_within_the_life_of_a_pod_is_not_created_again() {
    for expect in ["new", "join"] {
        let pod = Pod::new(&format!("run-deleted-{expect}"));
        let member = Member::answering(&[&list(NOT_STARTED)]);
        assert!(start(&pod, expect, Some(&member)).is_ok());
        pod.create_data();
        pod.lose_data();
        assert_eq!(start(&pod, expect, Some(&member)), Err(3));
        let (reason, message) = pod.termination_message();
        assert_eq!(reason, "DataMissing");
        assert!(message.contains("etcd has run in this pod before"), "{message}");
    }
}

#[test]
fn an_empty_marker_counts_as_lost_data() {
    let pod = Pod::new("run-marker");
    std::fs::write(pod.path("state/started"), "").unwrap();
    assert_eq!(start(&pod, "new", None), Err(3));
}

#[test]
fn etcd_that_exited_before_it_created_its_log_is_started_again() {
    let pod = Pod::new("run-again");
    let member = Member::answering(&[&list(NOT_STARTED)]);
    for _ in 0..3 {
        assert_eq!(start(&pod, "join", Some(&member)), started(JOINED));
    }
    pod.create_data();
    assert_eq!(start(&pod, "join", Some(&member)), started("--name=c-1"));
}

#[test]
fn the_agent_becomes_etcd() {
    let pod = Pod::new("run-exec");
    let mut command = pod.command("etcd-run", "new");
    let script = r#"echo "$$ $ETCD_QUOTA_BACKEND_BYTES $#"; exit 7"#;
    command.args(["--", "/bin/sh", "-c", script, "etcd", "--", "x y"]).env("ETCD_QUOTA_BACKEND_BYTES", "8");
    let child = command.spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(stdout(&output), format!("{pid} 8 4"));
}

#[test]
fn says_what_cannot_be_started() {
    let pod = Pod::new("run-nothing");
    let output = pod.command("etcd-run", "new").args(["--", "/nowhere/etcd"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (reason, message) = pod.termination_message();
    assert_eq!(reason, "CannotStart");
    assert!(message.starts_with("/nowhere/etcd cannot be started: "), "{message}");
}

#[test]
fn a_state_directory_that_is_not_there_starts_nothing() {
    let pod = Pod::new("run-stateless");
    std::fs::remove_dir(pod.path("state")).unwrap();
    assert_eq!(start(&pod, "new", None), Err(1));
    assert_eq!(pod.termination_message().0, "StateUnusable");
    pod.create_data();
    assert_eq!(start(&pod, "new", None), started("--name=c-1"), "data must not stay down because of a marker");
}

#[test]
fn a_wrong_flag_is_one_sentence() {
    let pod = Pod::new("run-wrong-flag");
    for more in [&["--color", "red"][..], &["--expect", "join", "--", "etcd"], &[]] {
        let output = pod.command("etcd-run", "new").args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
    }
}
