//! Programs that run side by side.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::{self, JoinHandle};

use super::tools::{self, Tools};
use crate::failure::{Failure, Reason};

/// A program beside others: whatever it says is read, so that it never waits for that.
pub(crate) struct Running<'a> {
    tools: &'a Tools,
    program: String,
    process: Child,
    words: Option<JoinHandle<String>>,
}

impl<'a> Running<'a> {
    pub(crate) fn start(tools: &'a Tools, command: &mut Command) -> Result<Self, Failure> {
        let program = tools::name(command);
        let spawned = command.stderr(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|error| tools.not_started(&program, &error))?;
        let words = process.stderr.take().map(|mut words| {
            thread::spawn(move || {
                let mut all = Vec::new();
                let _ = words.read_to_end(&mut all);
                String::from_utf8_lossy(&all).into_owned()
            })
        });
        Ok(Self { tools, program, process, words })
    }

    /// What it reads, if that was piped.
    pub(crate) fn input(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    pub(crate) fn output(&mut self) -> Result<Stdio, Failure> {
        let sentence = || Failure::new(Reason::ToolFailed, format!("{} has no pipe", self.program));
        self.process.stdout.take().map(Stdio::from).ok_or_else(sentence)
    }

    pub(crate) fn end(mut self, otherwise: Reason) -> Result<(), Failure> {
        let status = self.process.wait().map_err(|error| self.tools.not_started(&self.program, &error))?;
        let words = self.words.take().and_then(|words| words.join().ok()).unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let words = if words.trim().is_empty() { status.to_string() } else { words };
        Err(self.tools.failure(&self.program, &words, otherwise))
    }
}
