//! How a verb fails: a reason for programs, a sentence for people, an exit code.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

/// The kubelet cuts a termination message after 4096 bytes, which would leave half of a JSON object. Escapes and the
/// reason need room too.
const LONGEST_MESSAGE: usize = 2500;

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
    /// The data folder holds something else than what was made for this database.
    ForeignData,
    /// The data folder is of another major version of PostgreSQL.
    WrongMajor,
    DataCorrupt,
    /// Another server, or another run of the agent, works on the folder.
    DataInUse,
    /// A file system is full, or a quota is used up.
    NoSpace,
    CannotInitialise,
    /// A program of the engine is not in the image.
    ToolMissing,
    /// A program of the engine failed for a reason that has no name here: the message has its last words.
    ToolFailed,
    ConnectionFailed,
    AuthenticationFailed,
    PermissionDenied,
    DatabaseMissing,
    SnapshotMissing,
    /// The snapshot's manifest cannot be read, or is not the one that was asked for.
    Corrupt,
    FileMissing,
    /// A file is shorter than it was.
    Truncated,
    ChecksumMismatch,
    /// The snapshot was restored, and other rows or extensions came out than went in.
    CountMismatch,
    /// A check of the user's gave another result than expected.
    CheckFailed,
    RestoreFailed,
    /// The snapshot was made by a higher major version than the server's.
    NewerSnapshot,
    /// There is a database of the snapshot's name that this step has not made.
    TargetNotEmpty,
    /// SQL of the user's failed, and was rolled back.
    SqlFailed,
    BadPassword,
    /// The new version's image lacks an extension that the database uses.
    ExtensionMissing,
    /// Transactions are prepared, which no copy has in it: somebody must commit them or roll them back.
    PreparedTransactions,
    /// Sessions of others do not end, although they were told to.
    SessionsLeft,
    /// It runs as another user than the one whom the data belong to.
    WrongUser,
    /// The server takes no connections now.
    NotReady,
    /// The server has something that a copy would lose.
    Unsupported,
    /// Something that the operator gives (a file, a variable of the environment) is missing or malformed.
    BadInput,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Failure {
    reason: Reason,
    message: String,
    /// Whether writers are shut out of the old server, where that is what matters most and is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<bool>,
}

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        let message = message.into();
        let shown = cut(&message, LONGEST_MESSAGE);
        let message = if shown.len() < message.len() { format!("{shown} ...") } else { message };
        Self { reason, message, closed: None }
    }

    pub(crate) fn with_closed(self, closed: bool) -> Self {
        Self { closed: Some(closed), ..self }
    }

    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Says it on stderr and to the kubelet, which shows it as the container's termination message.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("{}", self.message);
        // The last words of a container are those of what runs in it, and not of a probe.
        if self.reason != Reason::NotReady {
            // Without the file the exit code and stderr still tell.
            let _ = leave(self);
        }
        ExitCode::from(match self.reason {
            Reason::DataMissing => 3,
            Reason::DnsTimeout => 4,
            // It fails as often as it is tried, until somebody mends it: Jobs of the operator's give up at once.
            Reason::SqlFailed | Reason::WrongUser => 5,
            _ => 1,
        })
    }
}

/// As much of the beginning as fits into so many bytes.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// The first of some sentences, each cut, as they fit into a termination message, and how many more there are: a control
/// character, which a user's name may have, would take six bytes there.
pub(crate) fn in_short(sentences: &[String], most: usize, bytes: usize) -> Vec<String> {
    const CUT: &str = " ...";
    let short = |sentence: &String| {
        let plain = sentence.replace(char::is_control, " ");
        if plain.len() <= bytes { plain } else { format!("{}{CUT}", cut(&plain, bytes.saturating_sub(CUT.len()))) }
    };
    if sentences.len() <= most {
        return sentences.iter().map(short).collect();
    }
    // The operator keeps no more than it asked for.
    let mut shown: Vec<String> = sentences.iter().take(most.saturating_sub(1)).map(short).collect();
    shown.push(format!("and {} more", sentences.len() - shown.len()));
    shown
}

/// Leaves what a verb found out to the kubelet, which shows it as the container's termination message.
pub(crate) fn leave(words: &impl Serialize) -> io::Result<()> {
    let named = std::env::var_os("TERMINATION_LOG").filter(|path| !path.is_empty());
    // The kubelet makes its file beforehand; outside a pod nothing is to appear in /dev.
    let create = named.is_some();
    let path = named.unwrap_or_else(|| DEFAULT_TERMINATION_LOG.into());
    let mut file = OpenOptions::new().write(true).truncate(true).create(create).open(path)?;
    file.write_all(&serde_json::to_vec(words)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_written_as_operators_read_them() {
        let written = |reason| serde_json::to_string(&Failure::new(reason, "so")).unwrap();
        assert_eq!(written(Reason::DataMissing), r#"{"reason":"DataMissing","message":"so"}"#);
        let closed = Failure::new(Reason::NoSpace, "so").with_closed(true);
        assert_eq!(serde_json::to_string(&closed).unwrap(), r#"{"reason":"NoSpace","message":"so","closed":true}"#);
        assert_eq!(written(Reason::DnsTimeout), r#"{"reason":"DNSTimeout","message":"so"}"#);
    }

    #[test]
    fn a_message_fits_into_what_the_kubelet_keeps() {
        let failure = Failure::new(Reason::ToolFailed, "\u{e4}\"".repeat(4000));
        assert!(serde_json::to_vec(&failure).unwrap().len() < 4096);
        let sentences = in_short(&vec!["\u{1}".repeat(300); 9], 5, 200);
        assert!(serde_json::to_vec(&sentences).unwrap().len() < 1100);
        assert_eq!((sentences.len(), sentences[4].as_str()), (5, "and 5 more"));
        assert!(sentences[0].len() == 200 && sentences[0].ends_with(" ..."));
        assert_eq!(in_short(&["a".into(), "b".into()], 2, 200), ["a", "b"]);
    }
}
