//! A directory of its own for each test, and a member that answers `GET /members`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

pub const AGENT: &str = env!("CARGO_BIN_EXE_agent");

/// The URL of the tested member in all tests.
pub const OWN_URL: &str = "http://localhost:2380";

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

    /// The command line of a subcommand for the tested member.
    pub fn command(&self, subcommand: &str, expect: &str) -> Command {
        let mut command = Command::new(AGENT);
        command.args([subcommand, "--name", "c-1", "--peer-url", OWN_URL, "--expect", expect]);
        command.arg("--data-dir").arg(self.path("data"));
        if subcommand == "etcd-run" {
            command.arg("--state").arg(self.path("state"));
        }
        command.env("TERMINATION_LOG", self.path("termination-log")).env_remove("POD_IP");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Puts a log in place, as etcd does.
    pub fn create_data(&self) {
        create_data_in(&self.path("data"));
    }

    pub fn lose_data(&self) {
        fs::remove_dir_all(self.path("data/member")).unwrap();
    }

    /// What the kubelet would show: reason and message.
    pub fn termination_message(&self) -> (String, String) {
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
pub fn create_data_in(data: &Path) {
    let created = data.join("member/wal.tmp");
    fs::create_dir_all(&created).unwrap();
    fs::write(created.join("0000000000000000-0000000000000000.wal"), "log").unwrap();
    let _ = fs::remove_dir_all(data.join("member/wal"));
    fs::rename(created, data.join("member/wal")).unwrap();
}

pub fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap().trim_end()
}

pub fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Waits until a running process has printed this on stderr.
pub fn wait_for_line(child: &mut Child, part: &str) {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(part)), "{part} was not printed");
    // Read on, or the process would end over a closed pipe.
    thread::spawn(move || lines.count());
}

pub fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// A member at its peer port, on a free port of this machine.
pub struct Member {
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
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
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
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
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A member list: the first member, and `entry` for the tested one.
pub fn list(entry: &str) -> String {
    format!(r#"[{{"id":1,"name":"c-0","peerURLs":["http://c-0.c:2380"],"clientURLs":[]}}{entry}]"#)
}

/// The tested member, added and not started.
pub const NOT_STARTED: &str = r#",{"id":18446744073709551615,"peerURLs":["http://localhost:2380"],"isLearner":true}"#;

/// The tested member, started before.
pub const STARTED: &str = r#",{"id":171,"name":"c-1","peerURLs":["http://localhost:2380"]}"#;
