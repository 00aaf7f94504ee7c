//! Termination messages: how a command reports its failure or its result to the kubelet.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::{Failure, Reason};

/// Where the kubelet looks for a container's last words, unless the pod names another file.
const DEFAULT_TERMINATION_LOG: &str = "/dev/termination-log";

impl Failure {
    /// Says it on stderr and to the kubelet, which shows it as the container's termination message.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.message());
        // The last words of a container are those of what runs in it, and not of a probe.
        if self.reason() != Reason::NotReady {
            // Without the file the exit code and stderr still tell.
            let _ = leave(self);
        }
        ExitCode::from(self.reason().exit() as u8)
    }
}

/// Leaves what a command found to the kubelet, which shows it as the container's termination message.
pub(crate) fn leave(words: &impl Serialize) -> io::Result<()> {
    let named = std::env::var_os("TERMINATION_LOG").filter(|path| !path.is_empty());
    // The kubelet makes its file beforehand; outside a pod nothing is to appear in /dev.
    let create = named.is_some();
    let path = named.unwrap_or_else(|| DEFAULT_TERMINATION_LOG.into());
    let mut file = OpenOptions::new().write(true).truncate(true).create(create).open(path)?;
    file.write_all(&serde_json::to_vec(words)?)
}
