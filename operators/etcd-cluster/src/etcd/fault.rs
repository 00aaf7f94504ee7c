//! Pure: why a member did not do what it was asked for, in words that stay the same as long as the cause does.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

/// What went wrong with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing listens there.
    Refused,
    /// There is no way there.
    Unreachable,
    /// No answer came in that time.
    Silent(Duration),
    /// The connection broke, or cannot be one to etcd.
    Broken(String),
    /// etcd answered that it does not know us: authentication is on.
    Denied(String),
    /// etcd answered that it knows no such request: its version is older than that.
    Unimplemented,
    /// etcd answered so.
    Said(String),
}

impl Fault {
    /// Whether etcd has answered; otherwise nobody knows what became of the request.
    pub(super) fn is_answer(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::Unimplemented | Self::Said(_))
    }

    /// The fault of a call that went wrong somewhere between us and the member.
    fn on_the_way(error: &(dyn StdError + 'static)) -> Self {
        let mut cause = error;
        loop {
            if let Some(error) = cause.downcast_ref::<io::Error>()
                && let Some(fault) = Self::of_kind(error.kind())
            {
                return fault;
            }
            match cause.source() {
                Some(source) => cause = source,
                None => return Self::Broken(cause.to_string()),
            }
        }
    }

    fn of_kind(kind: io::ErrorKind) -> Option<Self> {
        match kind {
            io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            // A host that is gone shows as one or the other, from one try to the next.
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::TimedOut => {
                Some(Self::Unreachable)
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                Some(Self::Broken("closed".to_owned()))
            }
            _ => None,
        }
    }

    /// The fault that a status stands for, by its number and words.
    fn said(code: i32, words: &str) -> Self {
        const PERMISSION_DENIED: i32 = 7;
        const UNIMPLEMENTED: i32 = 12;
        const UNAUTHENTICATED: i32 = 16;
        // What clients say when they could not even hand the request over.
        if words.starts_with("Service was not ready") {
            return Self::Broken("closed".to_owned());
        }
        let words = words.strip_prefix("etcdserver: ").unwrap_or(words).to_owned();
        // "user name is empty" comes as an invalid argument.
        if code == PERMISSION_DENIED || code == UNAUTHENTICATED || words == "user name is empty" {
            return Self::Denied(words);
        }
        if code == UNIMPLEMENTED { Self::Unimplemented } else { Self::Said(words) }
    }
}

impl From<etcd_client::Error> for Fault {
    fn from(error: etcd_client::Error) -> Self {
        match &error {
            // A status that was made on this side has a source; one that came from the other side has none.
            etcd_client::Error::GRpcStatus(status) => match status.source() {
                Some(source) => Self::on_the_way(source),
                None => Self::said(status.code() as i32, status.message()),
            },
            etcd_client::Error::TransportError(error) => Self::on_the_way(error),
            etcd_client::Error::IoError(error) => Self::on_the_way(error),
            _ => Self::Broken(error.to_string()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refuses connections"),
            Self::Unreachable => f.write_str("cannot be reached"),
            Self::Silent(waited) => write!(f, "does not answer within {} s", waited.as_secs_f32()),
            Self::Broken(words) => write!(f, "breaks the connection: {words}"),
            Self::Denied(words) => write!(f, "demands authentication: {words}"),
            Self::Unimplemented => f.write_str("knows no such request"),
            Self::Said(words) => f.write_str(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_plain() {
        let sentence = |fault: Fault| fault.to_string();
        assert_eq!(sentence(Fault::Silent(Duration::from_secs(2))), "does not answer within 2 s");
        assert_eq!(sentence(Fault::said(14, "etcdserver: no leader")), "no leader");
        assert_eq!(
            sentence(Fault::said(3, "etcdserver: user name is empty")),
            "demands authentication: user name is empty"
        );
    }

    #[test]
    fn denials_are_answers() {
        for (code, words) in [
            (7, "etcdserver: permission denied"),
            (16, "etcdserver: invalid auth token"),
            (3, "etcdserver: user name is empty"),
        ] {
            let fault = Fault::said(code, words);
            assert!(matches!(fault, Fault::Denied(_)) && fault.is_answer(), "{fault:?}");
        }
        assert!(Fault::said(14, "etcdserver: request timed out").is_answer());
        assert!(!Fault::said(2, "Service was not ready: buffered service failed").is_answer());
    }

    #[test]
    fn what_is_not_implemented_is_an_answer() {
        let fault = Fault::said(12, "unknown method MoveLeader for service etcdserverpb.Maintenance");
        assert!(fault == Fault::Unimplemented && fault.is_answer());
    }

    #[derive(Debug)]
    struct Around(io::Error);

    impl fmt::Display for Around {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("transport error")
        }
    }

    impl StdError for Around {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_cause_is_found_inside() {
        let refused = Around(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(Fault::on_the_way(&refused), Fault::Refused);
        let gone = io::Error::from(io::ErrorKind::HostUnreachable);
        assert_eq!(Fault::from(etcd_client::Error::IoError(gone)), Fault::Unreachable);
        let other = Around(io::Error::other("not a protocol of ours"));
        assert_eq!(Fault::on_the_way(&other), Fault::Broken("not a protocol of ours".to_owned()));
    }
}
