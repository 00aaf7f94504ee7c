//! kubectl, as a user runs it.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::patience::{longest, timeout};

/// What a command answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The command line.
    pub line: String,
    /// Whether it ended with 0.
    pub success: bool,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Answer {
    /// What it printed, if it succeeded.
    ///
    /// # Panics
    /// If it failed, with what it said.
    #[must_use]
    pub fn ok(self) -> String {
        assert!(self.success, "`{}` failed:\n{}{}", self.line, self.stdout, self.stderr);
        self.stdout
    }

    /// What it complained about, if it failed.
    ///
    /// # Panics
    /// If it succeeded.
    #[must_use]
    pub fn refused(self) -> String {
        assert!(!self.success, "`{}` was to fail, and printed:\n{}{}", self.line, self.stdout, self.stderr);
        self.stderr
    }
}

/// Runs kubectl on the cluster of `KUBECONFIG`.
pub async fn kubectl<A: AsRef<OsStr>>(arguments: &[A]) -> Answer {
    kubectl_with("", arguments).await
}

/// Runs kubectl with that on its standard input.
pub async fn kubectl_with<A: AsRef<OsStr>>(input: &str, arguments: &[A]) -> Answer {
    run(input, "kubectl", arguments).await
}

/// Runs a kubectl command that waits by itself (`wait`, `delete`, `rollout status`), for at most so much normal time.
pub async fn kubectl_within<A: AsRef<OsStr>>(limit: Duration, arguments: &[A]) -> Answer {
    let (limit_of_its_own, parts) = (format!("--timeout={}s", longest(limit).as_secs()), arguments.iter());
    let arguments: Vec<&OsStr> = parts.map(AsRef::as_ref).chain([limit_of_its_own.as_ref()]).collect();
    timeout(limit, kubectl(&arguments)).await.unwrap_or_else(|late| Answer {
        line: command_line("kubectl", &arguments),
        success: false,
        stdout: String::new(),
        stderr: format!("{late} in vain"),
    })
}

fn command_line<A: AsRef<OsStr>>(program: &str, arguments: &[A]) -> String {
    let parts = arguments.iter().map(|argument| argument.as_ref().to_string_lossy().into_owned());
    std::iter::once(program.to_owned()).chain(parts).collect::<Vec<_>>().join(" ")
}

/// Runs a program with that on its standard input.
///
/// # Panics
/// If it cannot be run at all.
pub async fn run<A: AsRef<OsStr>>(input: &str, program: &str, arguments: &[A]) -> Answer {
    let line = command_line(program, arguments);
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| panic!("{program} is needed on PATH (eval \"$(scripts/cluster env)\"): {error}"));
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // A program that needs no input may close it early.
    drop(stdin.write_all(input.as_bytes()).await);
    drop(stdin);
    let output = child.wait_with_output().await.expect("the program's output can be read");
    Answer {
        line,
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
