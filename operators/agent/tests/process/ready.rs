//! `agent pg-ready`, as probes run it in the container of a server, which is a socket here.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{AGENT, Pod, stderr};

impl Pod {
    /// The command of a probe, with whatever an image may have in PATH.
    fn probe(&self, more: &[&str]) -> Command {
        for name in ["postgres", "initdb", "pg_isready"] {
            let program = self.path("bin").join(name);
            fs::write(&program, "#!/bin/sh\nexec sleep 10\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.path("bin").display());
        let mut command = Command::new(AGENT);
        command.arg("pg-ready").args(more).env("PATH", path).env("PGHOST", self.path("state")).env_remove("PGUSER");
        command.env("TERMINATION_LOG", self.path("termination-log")).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A server that sends this to each client that begins to connect, and then waits until the client ends the session or
    /// disconnects. Returns what each client sent, before the answer and after it.
    fn serve(&self, answer: &'static [u8]) -> mpsc::Receiver<(Vec<u8>, Vec<u8>)> {
        let listener = UnixListener::bind(self.path("state/.s.PGSQL.5432")).unwrap();
        let (sender, heard) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut length = [0; 4];
                stream.read_exact(&mut length).unwrap();
                let mut message = vec![0; u32::from_be_bytes(length) as usize - 4];
                stream.read_exact(&mut message).unwrap();
                let _ = stream.write_all(answer);
                let mut rest = Vec::new();
                let _ = stream.take(5).read_to_end(&mut rest);
                let _ = sender.send((message, rest));
            }
        });
        heard
    }
}

/// What a process has started, and has not ended yet.
fn children(of: &Child) -> String {
    let tasks = fs::read_dir(format!("/proc/{}/task", of.id())).unwrap();
    tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default()).collect()
}

#[test]
fn what_a_server_says_decides() {
    let ask = |name: &str, answer: &'static [u8]| {
        let pod = Pod::new(&format!("ready-{name}"));
        let heard = pod.serve(answer);
        let output = pod.probe(&[]).output().unwrap();
        let (startup, rest) = heard.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(startup.starts_with(b"\0\x03\0\0user\0postgres\0database\0postgres\0"), "{startup:?}");
        assert!(startup.ends_with(b"\0\0"), "{startup:?}");
        // Only a session that has begun is ended with a message.
        let terminate: &[u8] = if name == "trust" { b"X\0\0\0\x04" } else { b"" };
        assert_eq!(rest, terminate, "{name}");
        assert!(!pod.path("termination-log").exists(), "the termination message of a container is its server's");
        (output.status.code(), stderr(&output).trim().rsplit(" - ").next().unwrap().to_owned())
    };
    assert_eq!(ask("scram", b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0").0, Some(0));
    assert_eq!(ask("trust", b"R\0\0\0\x08\0\0\0\0").0, Some(0));
    assert_eq!(ask("full", b"E\0\0\0\x13SFATAL\0C53300\0\0").0, Some(0), "it serves others");
    let starts = ask("starts", b"E\0\0\0\x13SFATAL\0C57P03\0\0");
    assert_eq!(starts, (Some(1), "rejecting connections".to_owned()));
    let forks = ask("forks", b"Ecould not fork new process for connection: no memory\n\0");
    assert_eq!(forks, (Some(1), "no response".to_owned()));
}

#[test]
fn a_server_that_is_not_there_is_not_ready_and_is_asked_again_for_so_long() {
    let pod = Pod::new("ready-absent");
    let since = Instant::now();
    assert_eq!(pod.probe(&[]).output().unwrap().status.code(), Some(1));
    assert!(since.elapsed() < Duration::from_secs(3));
    let child = pod.probe(&["--wait=30"]).spawn().unwrap();
    thread::sleep(Duration::from_millis(500));
    pod.serve(b"R\0\0\0\x08\0\0\0\x05");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert!(since.elapsed() < Duration::from_secs(20));
}

/// Killed at its time limit, a probe leaves its children to process 1, postgres, which takes their end for a crash.
#[test]
fn a_probe_of_a_server_that_says_nothing_has_no_children_and_ends_within_its_time_limit() {
    for (name, more) in [("ready-mute", &["--wait=3"][..]), ("ready-attempt", &["--reserve=0"])] {
        let pod = Pod::new(name);
        pod.serve(b"");
        // Settings that the server has not served with yet.
        fs::write(pod.path("data.attempt"), "{}").unwrap();
        let since = Instant::now();
        let mut child = pod.probe(more).arg("--pgdata").arg(pod.path("data")).spawn().unwrap();
        thread::sleep(Duration::from_secs(1));
        assert_eq!(children(&child), "", "{name}");
        assert!(child.try_wait().unwrap().is_none(), "{name}: it waits for an answer");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
        assert!(since.elapsed() < Duration::from_secs(5), "{name}: {:?}", since.elapsed());
        assert!(stderr(&output).ends_with("5432 - no response\n"), "{output:?}");
    }
}
