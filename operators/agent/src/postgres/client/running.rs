//! Programs that run concurrently.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::tools::{self, Tools};

/// A program that runs in the background. Its standard error is read, so that it never blocks on that.
pub(crate) struct Subprocess<'a> {
    tools: &'a Tools,
    program: String,
    process: Child,
    stderr: Option<JoinHandle<String>>,
}

impl<'a> Subprocess<'a> {
    pub(crate) fn start(tools: &'a Tools, command: &mut Command) -> Result<Self, CommandFailure> {
        let program = tools::name(command);
        let spawned = command.stderr(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|error| tools.not_started(&program, &error))?;
        let stderr = process.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut all = Vec::new();
                let _ = stderr.read_to_end(&mut all);
                String::from_utf8_lossy(&all).into_owned()
            })
        });
        Ok(Self { tools, program, process, stderr })
    }

    /// Its standard input, if that is a pipe.
    pub(crate) fn input(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    pub(crate) fn output(&mut self) -> Result<Stdio, CommandFailure> {
        let message = || CommandFailure::new(Reason::ToolFailed, format!("{} has no pipe", self.program));
        self.process.stdout.take().map(Stdio::from).ok_or_else(message)
    }

    pub(crate) fn end(mut self, otherwise: Reason) -> Result<(), CommandFailure> {
        let status = self.process.wait().map_err(|error| self.tools.not_started(&self.program, &error))?;
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let stderr = if stderr.trim().is_empty() { status.to_string() } else { stderr };
        Err(self.tools.failure(&self.program, &stderr, otherwise))
    }
}
