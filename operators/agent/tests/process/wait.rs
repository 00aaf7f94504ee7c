//! `agent install` and `agent etcd-wait`, as the init step of a pod runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{AGENT, Member, NOT_STARTED, OWN_URL, Pod, STARTED, kill, list, stderr, stdout, wait_for_line};

#[test]
fn install_puts_an_executable_there_again_and_again() {
    let pod = Pod::new("install");
    let installed = pod.path("bin/agent");
    for _ in 0..2 {
        let output = Command::new(AGENT).arg("install").arg(pod.path("bin")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o7777, 0o755);
        assert_eq!(fs::read_dir(pod.path("bin")).unwrap().count(), 1, "nothing else is left");
    }
    let version = Command::new(installed).arg("--version").output().unwrap();
    assert!(stdout(&version).starts_with("agent "));
}

#[test]
fn an_executable_that_runs_is_replaced() {
    let pod = Pod::new("replace");
    assert!(Command::new(AGENT).arg("install").arg(pod.path("bin")).status().unwrap().success());
    let mut running = Command::new(pod.path("bin/agent"))
        .args([
            "etcd-wait",
            "--name",
            "c",
            "--peer-url",
            "http://localhost:1",
            "--expect",
            "new",
            "--data-dir",
            "/none",
        ])
        .env("POD_IP", "192.0.2.1")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_line(&mut running, "waiting until");
    let output = Command::new(AGENT).arg("install").arg(pod.path("bin")).output().unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn install_says_where_it_cannot() {
    let pod = Pod::new("cannot-install");
    let mut command = Command::new(AGENT);
    command.arg("install").arg(pod.path("nowhere")).env("TERMINATION_LOG", pod.path("termination-log"));
    assert_eq!(command.output().unwrap().status.code(), Some(1));
    let (reason, message) = pod.termination_message();
    assert_eq!(reason, "CannotInstall");
    assert!(message.contains("nowhere"), "{message}");
}

#[test]
fn a_first_member_waits_for_its_name_only_and_installs_first() {
    let pod = Pod::new("wait-new");
    let output = pod
        .command("etcd-wait", "new")
        .arg("--install")
        .arg(pod.path("bin"))
        .env("POD_IP", "10.0.0.1,127.0.0.1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(pod.path("bin/agent").exists());
    assert!(stderr(&output).starts_with("waiting until localhost resolves to 10.0.0.1 or 127.0.0.1\n"), "{output:?}");
}

#[test]
fn a_joining_member_waits_until_it_is_listed() {
    let pod = Pod::new("wait-join");
    let member = Member::answering(&[&list(""), "not yet", &list(NOT_STARTED)]);
    let output = pod.command("etcd-wait", "join").args(["--peers-url", &member.url]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for part in [
        "waiting until the cluster lists http://localhost:2380\n",
        "its members do not list it yet\n",
        "its answer is not a member list",
        "the cluster lists http://localhost:2380 (after",
        "waiting until localhost resolves\n",
    ] {
        assert!(stderr(&output).contains(part), "{part}: {output:?}");
    }
    let requests = member.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].starts_with("GET /members HTTP/1.1"), "{requests:?}");
    let hosts: Vec<_> = requests[0].lines().filter(|line| line.to_lowercase().starts_with("host:")).collect();
    assert_eq!(hosts.len(), 1, "{requests:?}");
    assert!(hosts[0].ends_with(member.url.trim_start_matches("http://")), "{requests:?}");
}

#[test]
fn members_of_a_cluster_that_is_taken_over_list_it() {
    let pod = Pod::new("wait-earlier");
    let member = Member::answering(&[&list(""), &list(NOT_STARTED)]);
    let mut command = pod.command("etcd-wait", "join");
    // No other pod of its own cluster runs yet, and one of the earlier members is gone.
    let earlier = format!("http://localhost:1,{}", member.url);
    command.args(["--peers-url", OWN_URL, "--earlier-peers", &earlier]).env("POD_IP", "127.0.0.1,::1");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stderr(&output).contains("its members do not list it yet\n"), "{output:?}");
}

#[test]
fn members_are_asked_over_ipv6_and_past_a_proxy() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return eprintln!("not tested: there is no IPv6 here");
    }
    let pod = Pod::new("wait-ipv6");
    let member = Member::at("[::1]:0", "[::1]", &[&list(NOT_STARTED)]);
    let mut command = pod.command("etcd-wait", "join");
    command.args(["--peers-url", &member.url]).env("http_proxy", "http://192.0.2.1:3128");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_pod_does_not_ask_itself() {
    let pod = Pod::new("wait-alone");
    let mut command = pod.command("etcd-wait", "join");
    let mut child = command.args(["--peers-url", OWN_URL]).env("POD_IP", "127.0.0.1,::1").spawn().unwrap();
    wait_for_line(&mut child, "no member answers: there is no other pod");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_member_listed_as_started_has_lost_its_data() {
    let pod = Pod::new("wait-started");
    let member = Member::answering(&[&list(STARTED)]);
    let output = pod.command("etcd-wait", "join").args(["--peers-url", &member.url]).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let (reason, message) = pod.termination_message();
    assert_eq!(reason, "DataMissing");
    assert!(message.contains("started before"), "{message}");
    assert!(stderr(&output).ends_with(&format!("{message}\n")), "{output:?}");
}

#[test]
fn a_member_in_use_needs_its_data() {
    let pod = Pod::new("wait-data");
    assert_eq!(pod.command("etcd-wait", "data").output().unwrap().status.code(), Some(3));
    assert_eq!(pod.termination_message().0, "DataMissing");
    pod.create_data();
    assert_eq!(pod.command("etcd-wait", "data").output().unwrap().status.code(), Some(0));
}

#[test]
fn with_data_no_member_is_queried() {
    let pod = Pod::new("wait-restart");
    pod.create_data();
    let member = Member::answering(&[&list(STARTED)]);
    let output = pod.command("etcd-wait", "join").args(["--peers-url", &member.url]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(member.requests(), [] as [&str; 0]);
}

#[test]
fn a_name_that_is_another_pods_is_not_taken() {
    let pod = Pod::new("wait-dns");
    let mut command = pod.command("etcd-wait", "new");
    let output = command.args(["--dns-timeout", "1"]).env("POD_IP", "192.0.2.1").output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("still waiting until localhost resolves to 192.0.2.1"), "{output:?}");
    let (reason, message) = pod.termination_message();
    assert_eq!(reason, "DNSTimeout");
    assert!(message.starts_with("localhost does not resolve to 192.0.2.1, for 1 s now (it resolves to "), "{message}");
}

#[test]
fn a_name_that_is_not_there_ends_in_time() {
    let pod = Pod::new("wait-no-dns");
    let started = Instant::now();
    let mut command = pod.command("etcd-wait", "new");
    let output = command.args(["--peer-url", "http://c-0.invalid:2380", "--dns-timeout", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(started.elapsed() < Duration::from_secs(9));
    let (_, message) = pod.termination_message();
    assert!(message.contains("c-0.invalid") && message.contains("cluster DNS or the headless service"), "{message}");
}

#[test]
fn sigterm_ends_a_wait_at_once() {
    let pod = Pod::new("sigterm");
    let mut child = pod.command("etcd-wait", "new").env("POD_IP", "192.0.2.1").spawn().unwrap();
    wait_for_line(&mut child, "still waiting");
    let since = Instant::now();
    kill("-TERM", child.id());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(143), None));
    // The kubelet kills after 30 s.
    assert!(since.elapsed() < Duration::from_secs(25));
}

/// In a container the agent is process 1, which the kernel spares a SIGTERM without a handler.
#[test]
fn sigterm_ends_process_1_too() {
    let unshare = ["--pid", "--fork", "--kill-child"];
    let works = |more: &[&str]| {
        let outcome = Command::new("unshare").args(more).args(unshare).arg("true").output();
        outcome.is_ok_and(|output| output.status.success())
    };
    let user: &[&str] = match (works(&[]), works(&["--user", "--map-root-user"])) {
        (true, _) => &[],
        (false, true) => &["--user", "--map-root-user"],
        (false, false) => return eprintln!("not tested: process namespaces cannot be created here"),
    };
    let pod = Pod::new("process-1");
    let agent = pod.command("etcd-wait", "new");
    let mut child = Command::new("unshare")
        .args(user)
        .args(unshare)
        .arg(AGENT)
        .args(agent.get_args())
        .env("POD_IP", "192.0.2.1")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_line(&mut child, "still waiting");
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    kill("-TERM", children.trim().parse().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_wrong_flag_is_one_sentence() {
    let pod = Pod::new("wrong-flag");
    for more in [&["--colour"][..], &["--peer-url", "https://c:2380"], &["--dns-timeout"], &["more"]] {
        let output = pod.command("etcd-wait", "new").args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
        assert_eq!(stdout(&output), "");
    }
    assert!(!pod.path("termination-log").exists());
    let output = pod.command("etcd-wait", "new").env("POD_IP", "mine").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("POD_IP is not an address: mine"), "{output:?}");
}

#[test]
fn the_size_of_the_file_system_is_in_the_termination_message() {
    let pod = Pod::new("wait-measured");
    pod.create_data();
    let output = pod.command("etcd-wait", "data").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let left: serde_json::Value = serde_json::from_slice(&fs::read(pod.path("termination-log")).unwrap()).unwrap();
    let printed = Command::new("stat").args(["--file-system", "--format=%b %S"]).arg(pod.path("")).output().unwrap();
    let printed: Vec<u64> = stdout(&printed).split(' ').map(|number| number.parse().unwrap()).collect();
    assert_eq!(left, serde_json::json!({ "volumeBytes": printed[0] * printed[1], "databaseBytes": 0 }));
}
