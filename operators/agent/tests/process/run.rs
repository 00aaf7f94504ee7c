//! `agent etcd-run`, as etcd's container runs it at each of its starts; etcd is `echo`, or a shell.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use crate::support::{FRESH, Member, Pod, STARTED, kill, list, make_data_in, stderr, stdout};

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
    let member = Member::answering(&[&list(""), &list(FRESH)]);
    assert_eq!(start(&pod, "join", Some(&member)), started(JOINED));
    assert_eq!(member.asked().len(), 2, "the first answer did not list it");
}

#[test]
fn a_joining_member_that_was_started_before_is_not_started() {
    let pod = Pod::new("run-started");
    let member = Member::answering(&[&list(STARTED)]);
    assert_eq!(start(&pod, "join", Some(&member)), Err(3));
    assert_eq!(pod.last_words().0, "DataMissing");
    assert!(!pod.path("state/started").exists());
}

#[test]
fn on_data_etcd_gets_its_own_arguments_only() {
    let pod = Pod::new("run-data");
    pod.make_data();
    let member = Member::answering(&[&list(STARTED)]);
    for expect in ["new", "join", "data"] {
        assert_eq!(start(&pod, expect, Some(&member)), started("--name=c-1"), "{expect}");
    }
    assert_eq!(member.asked().len(), 0);
}

/// A copy of a volume, in another namespace: etcd would take part in the cluster that it was copied from.
#[test]
fn data_of_a_member_elsewhere_is_not_started() {
    let pod = Pod::new("run-elsewhere");
    pod.make_data();
    let start = |namespace: &str| {
        let url = format!("http://c-1.c.{namespace}.svc:2380");
        pod.command("etcd-run", "data").args(["--peer-url", &url, "--", "/bin/echo"]).output().unwrap().status.code()
    };
    assert_eq!(start("here"), Some(0), "whose it is, is noted");
    assert_eq!(start("elsewhere"), Some(1));
    let (reason, message) = pod.last_words();
    assert_eq!(reason, "ForeignData");
    assert!(message.contains("http://c-1.c.here.svc:2380"), "{message}");
    assert_eq!(start("here"), Some(0));
}

#[test]
fn a_member_in_use_needs_its_data() {
    let pod = Pod::new("run-lost");
    assert_eq!(start(&pod, "data", None), Err(3));
    let (reason, message) = pod.last_words();
    assert_eq!(reason, "DataMissing");
    assert!(message.contains("member c-1 has been in use"), "{message}");
}

#[test]
fn data_lost_within_the_life_of_a_pod_is_not_made_anew() {
    for expect in ["new", "join"] {
        let pod = Pod::new(&format!("run-gone-{expect}"));
        let member = Member::answering(&[&list(FRESH)]);
        assert!(start(&pod, expect, Some(&member)).is_ok());
        pod.make_data();
        pod.lose_data();
        assert_eq!(start(&pod, expect, Some(&member)), Err(3));
        let (reason, message) = pod.last_words();
        assert_eq!(reason, "DataMissing");
        assert!(message.contains("etcd has run in this pod before"), "{message}");
    }
}

#[test]
fn a_note_that_says_nothing_counts_as_data_lost() {
    let pod = Pod::new("run-note");
    std::fs::write(pod.path("state/started"), "").unwrap();
    assert_eq!(start(&pod, "new", None), Err(3));
}

#[test]
fn etcd_that_ended_before_it_made_its_log_is_started_again() {
    let pod = Pod::new("run-again");
    let member = Member::answering(&[&list(FRESH)]);
    for _ in 0..3 {
        assert_eq!(start(&pod, "join", Some(&member)), started(JOINED));
    }
    pod.make_data();
    assert_eq!(start(&pod, "join", Some(&member)), started("--name=c-1"));
}

#[test]
fn etcd_takes_the_agents_place() {
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
    let (reason, message) = pod.last_words();
    assert_eq!(reason, "CannotStart");
    assert!(message.starts_with("/nowhere/etcd cannot be started: "), "{message}");
}

#[test]
fn a_state_directory_that_is_not_there_starts_nothing() {
    let pod = Pod::new("run-stateless");
    std::fs::remove_dir(pod.path("state")).unwrap();
    assert_eq!(start(&pod, "new", None), Err(1));
    assert_eq!(pod.last_words().0, "StateUnusable");
    pod.make_data();
    assert_eq!(start(&pod, "new", None), started("--name=c-1"), "data must not stay down because of a note");
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

/// A process of this machine's, with its arguments.
fn processes_with(part: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let words = std::fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&words).replace('\0', " "))
    });
    all.filter(|words| words.contains(part)).collect()
}

/// Waits for what others do, for a minute at most.
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_reserve_that_is_gone_comes_back_while_etcd_runs_and_its_keeper_ends_with_etcd() {
    let pod = Pod::new("run-keep");
    pod.make_data();
    let mut command = pod.command("etcd-run", "data");
    command.args(["--reserve=100000", "--", "/bin/sleep", "300"]);
    let mut etcd = command.spawn().unwrap();
    let reserve = pod.path("reserve");
    let size = || std::fs::metadata(&reserve).map_or(0, |file| file.len());
    eventually("it is taken before etcd starts", || size() == 100_000);
    let keepers = format!("--data-dir {} --reserve=100000 --beside={}", pod.path("data").display(), etcd.id());
    eventually("somebody keeps it", || processes_with(&keepers).len() == 1);
    std::fs::remove_file(&reserve).unwrap();
    eventually("it is back", || size() == 100_000);
    kill("-KILL", etcd.id());
    etcd.wait().unwrap();
    eventually("the keeper ends with etcd", || processes_with(&keepers).is_empty());
}

#[test]
fn how_full_the_volume_is_can_be_asked_while_etcd_runs() {
    let pod = Pod::new("run-volume-port");
    pod.make_data();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = pod.command("etcd-run", "data");
    command.args(["--reserve=1000", &format!("--volume-port={port}"), "--", "/bin/sleep", "300"]);
    let etcd = command.spawn().unwrap();
    let ask = || {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
        connection.write_all(b"GET / HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        Some(answer)
    };
    eventually("it is told", || ask().is_some_and(|answer| answer.contains("\"freeBytes\":")));
    stop(etcd);
    eventually("nobody tells any more", || ask().is_none());
}

#[test]
fn limits_are_given_to_etcd_and_no_more_than_fits_the_file_system() {
    let pod = Pod::new("run-limits");
    pod.make_data();
    let run = |limits: [&str; 3]| {
        let output = pod.command("etcd-run", "data").args(limits).args(["--", "/bin/echo", "x"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (stdout(&output).to_owned(), stderr(&output).to_owned())
    };
    let (arguments, said) = run(["--reserve=1000", "--quota=1", "--snapshot-count=1"]);
    assert_eq!(arguments, "x --quota-backend-bytes=1 --snapshot-count=1", "a large file system raises nothing");
    assert_eq!(said, "");
    let (arguments, said) = run(["--reserve=1000", "--quota=18446744073709551615", "--snapshot-count=1"]);
    let given: u64 = arguments.split(['=', ' ']).nth(2).unwrap().parse().unwrap();
    assert!(given <= 8 << 30, "{arguments}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(&format!("quota {given} instead of 18446744073709551615\n")), "{said}");
}

#[test]
fn a_volume_that_gets_full_again_and_again_lets_etcd_start_each_time() {
    let pod = Pod::new("run-full");
    let volume = pod.path("volume");
    std::fs::create_dir_all(&volume).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(&volume).status();
    if !mount.unwrap().success() {
        eprintln!("only root can mount a file system");
        return;
    }
    let unmount = Unmount(volume.clone());
    let size = |file: &str| std::fs::metadata(volume.join(file)).map_or(0, |file| file.len());
    let start = || {
        let mut command = pod.command("etcd-run", "new");
        command.arg("--data-dir").arg(volume.join("data")).args(["--reserve=8000000", "--", "/bin/sh", "-c"]);
        // Says what it is given, and goes on for a while.
        command.args([r#"echo "$@" "$ETCD_QUOTA_BACKEND_BYTES" >"$0/said"; exec sleep 300"#]).arg(&volume).arg("etcd");
        command.env("ETCD_QUOTA_BACKEND_BYTES", "8589934592");
        std::fs::write(volume.join("said"), "").unwrap();
        let etcd = command.spawn().unwrap();
        eventually("etcd is started", || size("said") > 0);
        (etcd, std::fs::read_to_string(volume.join("said")).unwrap())
    };
    let (etcd, said) = start();
    assert!(said.contains(" 8589934592") && size("reserve") == 6_710_886, "a tenth of the volume is held: {said}");
    stop(etcd);
    std::fs::create_dir_all(volume.join("data/member/snap")).unwrap();
    make_data_in(&volume.join("data"));
    std::fs::write(volume.join("data/member/snap/db"), vec![1; 30_000_000]).unwrap();
    for _ in 0..2 {
        // Writes until nothing fits any more, as others on the volume do.
        let filled = std::fs::write(volume.join("filler"), vec![1; 64_000_000]);
        assert!(filled.is_err() && size("reserve") == 6_710_886, "{filled:?}");
        let (etcd, said) = start();
        assert_eq!(size("reserve"), 0, "it is given up for etcd to start");
        assert!(said.contains("--quota-backend-bytes=30000"), "the database is not to grow: {said}");
        assert!(!said.contains("8589934592"), "etcd does not start where the variable is there, too: {said}");
        std::fs::remove_file(volume.join("filler")).unwrap();
        eventually("the reserve is back", || size("reserve") == 6_710_886);
        stop(etcd);
    }
    drop(unmount);
}

fn stop(mut etcd: Child) {
    kill("-KILL", etcd.id());
    etcd.wait().unwrap();
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        // Lazily: a keeper may be about to end.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
