//! A directory for each test, and a database in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use real_postgres::trees;
use serde_json::Value;

pub use crate::server::Server;

pub const PASSWORD: &str = "boss' \"secret\"";

/// The directory of a test, which is removed when this is dropped.
pub struct Fixture {
    pub directory: PathBuf,
    pub host: String,
    /// The tree whose server and programs this uses.
    tree: String,
    /// Whether its server syncs to disk.
    pub durable: bool,
}

impl Fixture {
    /// A fixture with the tree of this run.
    pub fn new(name: &str) -> Self {
        Self::of(name, &trees::chosen())
    }

    /// A fixture with this tree.
    pub fn of(name: &str, tree: &str) -> Self {
        static HOSTS: AtomicU8 = AtomicU8::new(1);
        let id = std::process::id();
        let host = format!("127.{}.{}.{}", 1 + (id >> 8) % 250, id % 256, HOSTS.fetch_add(1, Ordering::Relaxed));
        // The programs' trees have this temporary directory, and those of /dev.
        let directory = std::env::temp_dir().join(format!("agent-pg-{id}-{name}"));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        Self { directory, host, tree: tree.into(), durable: false }
    }

    /// The major version of its programs.
    pub fn major(&self) -> &str {
        trees::major(&self.tree)
    }

    pub fn program(&self, name: &str) -> Command {
        trees::command(&self.tree, &trees::program(&self.tree, name))
    }

    /// A PATH with its programs, with this script as psql; in it, `$PSQL` is the real one.
    pub fn with_psql(&self, script: &str) -> String {
        let directory = self.path("bin");
        fs::create_dir(&directory).unwrap();
        for name in ["postgres", "initdb", "pg_dump", "pg_dumpall", "pg_restore", "vacuumdb"] {
            std::os::unix::fs::symlink(trees::program(&self.tree, name), directory.join(name)).unwrap();
        }
        let psql = trees::program(&self.tree, "psql");
        self.write("bin/psql", &format!("#!/bin/sh\nPSQL={}\n{script}\n", psql.display()));
        fs::set_permissions(directory.join("psql"), fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", directory.display())
    }

    pub fn path(&self, part: &str) -> PathBuf {
        self.directory.join(part)
    }

    pub fn text(&self, part: &str) -> String {
        self.path(part).to_str().unwrap().to_owned()
    }

    pub fn write(&self, part: &str, text: &str) -> String {
        fs::write(self.path(part), text).unwrap();
        self.text(part)
    }

    /// The agent, with the address of this test's server.
    pub fn agent(&self, arguments: &[&str]) -> Command {
        // Other users may lack access to the build directory.
        let copy = self.path("agent");
        if !copy.exists() {
            // By another process: one that this process forks meanwhile would have the file open for writing, so it could not be
            // executed.
            let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_agent")).arg(&copy).status();
            assert!(copied.unwrap().success());
        }
        let mut command = trees::command(&self.tree, &copy);
        command.args(arguments).env("TERMINATION_LOG", self.path("termination-log"));
        command.env("PGHOST", &self.host).env("PGPORT", "5432").env("PGUSER", "boss").env("PGPASSWORD", PASSWORD);
        command
    }

    /// The result of the agent, which is also its termination message.
    pub fn run(&self, arguments: &[&str]) -> Value {
        let output = self.agent(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(self.termination_message(), result);
        result
    }

    /// The reason and the message of a failure.
    pub fn fails(&self, arguments: &[&str]) -> (String, String) {
        let output = self.agent(arguments).output().unwrap();
        assert!(matches!(output.status.code(), Some(1 | 3 | 5)), "{arguments:?}: {output:?}");
        self.reason()
    }

    pub fn reason(&self) -> (String, String) {
        let message = self.termination_message();
        let text = |key: &str| message[key].as_str().unwrap().to_owned();
        assert!(!message.to_string().contains(PASSWORD));
        (text("reason"), text("message"))
    }

    pub fn termination_message(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("termination-log")).unwrap()).unwrap()
    }

    pub fn prepare(&self, more: &[&str]) -> Vec<String> {
        let major = self.major();
        fs::create_dir_all(self.path("conf")).unwrap();
        let data = self.text("volume/data");
        let conf = self.text("conf");
        let arguments = ["pg-prepare", "--pgdata", &data, "--major", major, "--configuration", &conf];
        fs::create_dir_all(self.path("volume")).unwrap();
        fs::set_permissions(self.path("volume"), fs::Permissions::from_mode(0o777)).unwrap();
        arguments.iter().chain(more).map(ToString::to_string).collect()
    }

    pub fn prepared(&self, more: &[&str]) -> Value {
        let arguments = self.prepare(more);
        self.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    pub fn prepare_fails(&self, more: &[&str]) -> (String, String) {
        let arguments = self.prepare(more);
        self.fails(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A database that serves.
    pub fn serve(&self) -> Server<'_> {
        self.prepared(&["--initialise", "--owner", "uid-1"]);
        self.start()
    }

    pub fn start(&self) -> Server<'_> {
        self.start_as(PASSWORD)
    }

    pub fn start_as(&self, password: &str) -> Server<'_> {
        self.start_with(password, &[])
    }

    /// With more flags for `pg-run`.
    pub fn start_with(&self, password: &str, more: &[&str]) -> Server<'_> {
        let conf =
            format!("listen_addresses = '{}'\nunix_socket_directories = '{}'\n", self.host, self.directory.display());
        let fsync = if self.durable { "on" } else { "off" };
        self.write("conf/test.conf", &format!("{conf}fsync = {fsync}\nlog_min_messages = warning\n"));
        let log = fs::File::create(self.path("server.log")).unwrap();
        let data = self.text("volume/data");
        let conf = self.text("conf");
        let all = ["pg-run", "--pgdata", &data, "--configuration", &conf];
        let mut command = self.agent(&[&all, more].concat());
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let server = Server { fixture: self, child: Some(child) };
        let since = Instant::now();
        // During an upgrade there may be no other database; and a running server may report that it accepts no connections.
        let serves = |asked: Output| {
            asked.status.success() || stderr(&asked).contains("\"template1\" is not currently accepting connections")
        };
        while !serves(server.psql("boss", password, "template1", "SELECT 1")) {
            assert!(since.elapsed() < Duration::from_secs(30), "{}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// The output of a container that does not start, with more flags for `pg-run`.
    pub fn does_not_start(&self, more: &[&str]) -> String {
        let (data, conf) = (self.text("volume/data"), self.text("conf"));
        let run = ["pg-run", "--pgdata", &data, "--configuration", &conf];
        let output = self.agent(&[&run, more].concat()).output().unwrap();
        assert!(!output.status.success());
        stderr(&output)
    }

    /// The probe succeeds; with the flag of the reserve.
    pub fn is_ready(&self, reserve: &str) {
        let data = self.text("volume/data");
        let output = self.agent(&["pg-ready", "--pgdata", &data, reserve]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("server.log")).unwrap()
    }

    pub fn dump(&self, name: &str, more: &[&str]) -> Value {
        let to = self.text(&format!("snapshots/{name}"));
        self.run(&[&["pg-dump", "--to", &to], more].concat())
    }

    /// Verifies a snapshot in a throwaway server.
    pub fn verify(&self, name: &str, more: &[&str]) -> Command {
        let (snapshot, scratch) = (self.text(&format!("snapshots/{name}")), self.text("scratch"));
        let run = self.text("");
        let arguments =
            ["pg-verify", "--snapshot", &snapshot, "--scratch", &scratch, "--run-dir", run.trim_end_matches('/')];
        self.agent(&[&arguments, more].concat())
    }

    pub fn verified(&self, name: &str, more: &[&str]) -> Value {
        let output = self.verify(name, more).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(!self.path("scratch/verify").exists());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn not_verified(&self, name: &str, more: &[&str]) -> (String, String) {
        let output = self.verify(name, more).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(!self.path("scratch/verify").exists());
        self.reason()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

pub fn signal(signal: &str, pids: &str) {
    // The shell's own, as not every image has the program.
    let line = format!("kill {signal} {pids}");
    let _ = Command::new("sh").args(["-c", &line]).stderr(Stdio::null()).status().unwrap();
}

/// Ends a process that leads a process group and all that it has started, as when a container is killed.
pub fn kill_group(mut child: Child) {
    let group = format!("-{}", child.id());
    signal("-KILL", &group);
    child.wait().unwrap();
    let lives = || Command::new("sh").args(["-c", &format!("kill -0 {group}")]).stderr(Stdio::null()).status().unwrap();
    while lives().success() {
        thread::sleep(Duration::from_millis(5));
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
