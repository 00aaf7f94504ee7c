//! A directory of its own for each test, and a member that answers `GET /members`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

pub const AGENT: &str = env!("CARGO_BIN_EXE_agent");

/// Our member's URL in all tests.
pub const OURS: &str = "http://localhost:2380";

pub struct Pod {
    directory: PathBuf,
}

impl Pod {
    pub fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("agent-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        for part in ["data", "state", "bin"] {
            fs::create_dir_all(directory.join(part)).unwrap();
        }
        Self { directory }
    }

    pub fn path(&self, part: &str) -> PathBuf {
        self.directory.join(part)
    }

    /// The command line of a verb about our member.
    pub fn command(&self, verb: &str, expect: &str) -> Command {
        let mut command = Command::new(AGENT);
        command.args([verb, "--name", "c-1", "--peer-url", OURS, "--expect", expect]);
        command.arg("--data-dir").arg(self.path("data"));
        if verb == "etcd-run" {
            command.arg("--state").arg(self.path("state"));
        }
        command.env("TERMINATION_LOG", self.path("termination-log")).env_remove("POD_IP");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Puts a log in place, as etcd does.
    pub fn make_data(&self) {
        make_data_in(&self.path("data"));
    }

    pub fn lose_data(&self) {
        fs::remove_dir_all(self.path("data/member")).unwrap();
    }

    /// What the kubelet would show: reason and message.
    pub fn last_words(&self) -> (String, String) {
        let json: serde_json::Value = serde_json::from_slice(&fs::read(self.path("termination-log")).unwrap()).unwrap();
        let text = |key: &str| json[key].as_str().unwrap().to_owned();
        (text("reason"), text("message"))
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Puts a log into a data directory, as etcd does.
pub fn make_data_in(data: &Path) {
    let made = data.join("member/wal.tmp");
    fs::create_dir_all(&made).unwrap();
    fs::write(made.join("0000000000000000-0000000000000000.wal"), "log").unwrap();
    let _ = fs::remove_dir_all(data.join("member/wal"));
    fs::rename(made, data.join("member/wal")).unwrap();
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap().trim_end()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Waits until a process that runs has said this on stderr.
pub fn heard(child: &mut Child, part: &str) {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(part)), "{part} was not said");
    // Read on, or the process would end over a closed pipe.
    thread::spawn(move || lines.count());
}

pub fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// A member at its peer port, on a free port of this machine.
pub struct Member {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Member {
    /// Gives these answers in turn, and the last one from then on.
    pub fn answering(answers: &[&str]) -> Self {
        Self::at("127.0.0.1:0", "localhost", answers)
    }

    pub fn at(address: &str, host: &str, answers: &[&str]) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let url = format!("http://{host}:{}", listener.local_addr().unwrap().port());
        let answers: Vec<String> = answers.iter().map(ToString::to_string).collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(&stream).lines().map(Result::unwrap);
                let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                let mut seen = seen.lock().unwrap();
                let body = &answers[seen.len().min(answers.len() - 1)];
                seen.push(request.join("\n"));
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
                    .unwrap();
            }
        });
        Self { url, asked }
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A member list: the first member, and ours as `entry` has it.
pub fn list(entry: &str) -> String {
    format!(r#"[{{"id":1,"name":"c-0","peerURLs":["http://c-0.c:2380"],"clientURLs":[]}}{entry}]"#)
}

/// Ours, added and not started.
pub const FRESH: &str = r#",{"id":18446744073709551615,"peerURLs":["http://localhost:2380"],"isLearner":true}"#;

/// Ours, started before.
pub const STARTED: &str = r#",{"id":171,"name":"c-1","peerURLs":["http://localhost:2380"]}"#;
