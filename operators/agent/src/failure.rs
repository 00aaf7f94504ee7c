//! How a verb fails: a reason for programs, a sentence for people, an exit code.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

/// Where the kubelet looks for a container's last words, unless the pod names another file.
const DEFAULT_TERMINATION_LOG: &str = "/dev/termination-log";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Reason {
    /// The data directory is empty, and it held data before.
    DataMissing,
    /// The data directory cannot be looked into: whether there is data is not known.
    DataUnreadable,
    #[serde(rename = "DNSTimeout")]
    DnsTimeout,
    /// The cluster did not list the member in time.
    NotListed,
    /// The note that etcd was started could not be written or read.
    StateUnusable,
    CannotStart,
    CannotInstall,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    reason: Reason,
    message: String,
}

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// Says it on stderr and to the kubelet, which shows it as the container's termination message.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.message);
        // Without the file the exit code and stderr still tell.
        let _ = self.leave();
        ExitCode::from(match self.reason {
            Reason::DataMissing => 3,
            Reason::DnsTimeout => 4,
            _ => 1,
        })
    }

    fn leave(&self) -> io::Result<()> {
        let named = std::env::var_os("TERMINATION_LOG").filter(|path| !path.is_empty());
        // The kubelet makes its file beforehand; outside a pod nothing is to appear in /dev.
        let create = named.is_some();
        let path = named.unwrap_or_else(|| DEFAULT_TERMINATION_LOG.into());
        let mut file = OpenOptions::new().write(true).truncate(true).create(create).open(path)?;
        file.write_all(&serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_written_as_operators_read_them() {
        let written = |reason| serde_json::to_string(&Failure::new(reason, "so")).unwrap();
        assert_eq!(written(Reason::DataMissing), r#"{"reason":"DataMissing","message":"so"}"#);
        assert_eq!(written(Reason::DnsTimeout), r#"{"reason":"DNSTimeout","message":"so"}"#);
    }
}
