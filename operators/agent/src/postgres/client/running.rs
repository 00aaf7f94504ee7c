//! Programs that run side by side.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use crate::failure::{Failure, Reason};
use crate::postgres::client::tools::{self, Tools};

/// A program beside others: whatever it says is read, so that it never waits for that.
pub(crate) struct Running<'a> {
    tools: &'a Tools,
    program: String,
    process: Child,
    stderr: Option<JoinHandle<String>>,
}

impl<'a> Running<'a> {
    pub(crate) fn start(tools: &'a Tools, command: &mut Command) -> Result<Self, Failure> {
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

    /// What it reads, if that was piped.
    pub(crate) fn input(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    pub(crate) fn output(&mut self) -> Result<Stdio, Failure> {
        let message = || Failure::new(Reason::ToolFailed, format!("{} has no pipe", self.program));
        self.process.stdout.take().map(Stdio::from).ok_or_else(message)
    }

    pub(crate) fn end(mut self, otherwise: Reason) -> Result<(), Failure> {
        let status = self.process.wait().map_err(|error| self.tools.not_started(&self.program, &error))?;
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let stderr = if stderr.trim().is_empty() { status.to_string() } else { stderr };
        Err(self.tools.failure(&self.program, &stderr, otherwise))
    }
}
