//! Pure: why a call to a member failed, as a message that stays the same as long as the cause does.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EtcdClientError {
    /// Nothing listens at the address.
    Refused,
    /// There is no route to the address.
    Unreachable,
    /// No answer arrived in that time.
    Timeout(Duration),
    /// The connection was closed, or the server is not etcd.
    Connection(String),
    /// etcd requires authentication.
    AuthRequired(String),
    /// etcd knows no user `root` with the password that the operator has.
    RootRejected(String),
    /// This version of etcd does not support the request.
    Unimplemented,
    /// etcd answered with this error.
    Rejected(String),
}

impl EtcdClientError {
    /// Whether etcd answered. Otherwise the result of the request is unknown.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.is_denial() || matches!(self, Self::Unimplemented | Self::Rejected(_))
    }

    /// The same error, with the time that a call had in all, and not what was left of it: messages must stay the same.
    pub(super) fn within(self, deadline: Duration) -> Self {
        if let Self::Timeout(_) = self { Self::Timeout(deadline) } else { self }
    }

    /// Whether etcd requires a user, and has not done what was asked.
    #[must_use]
    pub fn is_denial(&self) -> bool {
        matches!(self, Self::AuthRequired(_) | Self::RootRejected(_))
    }

    /// The error of a call that failed between the manager and the member.
    fn from_transport(error: &(dyn StdError + 'static)) -> Self {
        let mut cause = error;
        loop {
            if let Some(error) = cause.downcast_ref::<io::Error>()
                && let Some(error) = Self::of_kind(error.kind())
            {
                return error;
            }
            match cause.source() {
                Some(source) => cause = source,
                None => return Self::Connection(cause.to_string()),
            }
        }
    }

    fn of_kind(kind: io::ErrorKind) -> Option<Self> {
        match kind {
            io::ErrorKind::ConnectionRefused => Some(Self::Refused),
            // The kernel reports a host that is down as any of these.
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::TimedOut => {
                Some(Self::Unreachable)
            }
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
                Some(Self::Connection("closed".to_owned()))
            }
            _ => None,
        }
    }

    /// The error of a gRPC status, by its code and message.
    fn from_status(code: i32, message: &str) -> Self {
        const PERMISSION_DENIED: i32 = 7;
        const UNIMPLEMENTED: i32 = 12;
        const UNAUTHENTICATED: i32 = 16;
        // The client library reports this if it could not send the request.
        if message.starts_with("Service was not ready") {
            return Self::Connection("closed".to_owned());
        }
        let message = message.strip_prefix("etcdserver: ").unwrap_or(message).to_owned();
        if message.starts_with("authentication failed") {
            return Self::RootRejected(message);
        }
        // etcd reports these by other codes. The second is about a token from before a change of users, and 3.3 rejects any token once
        // authentication is off.
        let message_denies = matches!(
            message.as_str(),
            "user name is empty" | "revision of auth store is old" | "auth: invalid auth token"
        );
        if code == PERMISSION_DENIED || code == UNAUTHENTICATED || message_denies {
            return Self::AuthRequired(message);
        }
        if code == UNIMPLEMENTED { Self::Unimplemented } else { Self::Rejected(message) }
    }
}

impl From<etcd_client::Error> for EtcdClientError {
    fn from(error: etcd_client::Error) -> Self {
        match &error {
            // A status that the client library created has a source; one that etcd sent has none.
            etcd_client::Error::GRpcStatus(status) => match status.source() {
                Some(source) => Self::from_transport(source),
                None => Self::from_status(status.code() as i32, status.message()),
            },
            etcd_client::Error::TransportError(error) => Self::from_transport(error),
            etcd_client::Error::IoError(error) => Self::from_transport(error),
            _ => Self::Connection(error.to_string()),
        }
    }
}

impl fmt::Display for EtcdClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("refuses connections"),
            Self::Unreachable => f.write_str("cannot be reached"),
            Self::Timeout(waited) => write!(f, "does not answer within {} s", waited.as_secs_f32()),
            Self::Connection(message) => write!(f, "closes the connection: {message}"),
            Self::AuthRequired(message) => write!(f, "requires authentication: {message}"),
            Self::RootRejected(message) => write!(f, "rejects the password of root: {message}"),
            Self::Unimplemented => f.write_str("does not support the request"),
            Self::Rejected(message) => f.write_str(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_plain() {
        let text = |error: EtcdClientError| error.to_string();
        assert_eq!(text(EtcdClientError::Timeout(Duration::from_secs(2))), "does not answer within 2 s");
        assert_eq!(text(EtcdClientError::from_status(14, "etcdserver: no leader")), "no leader");
        assert_eq!(
            text(EtcdClientError::from_status(3, "etcdserver: user name is empty")),
            "requires authentication: user name is empty"
        );
    }

    #[test]
    fn denials_are_answers() {
        for (code, message) in [
            (7, "etcdserver: permission denied"),
            (16, "etcdserver: invalid auth token"),
            (3, "etcdserver: user name is empty"),
            (3, "etcdserver: revision of auth store is old"),
            (2, "auth: invalid auth token"),
        ] {
            let error = EtcdClientError::from_status(code, message);
            assert!(matches!(error, EtcdClientError::AuthRequired(_)) && error.is_answer(), "{error:?}");
        }
        let rejected =
            EtcdClientError::from_status(3, "etcdserver: authentication failed, invalid user ID or password");
        assert!(matches!(rejected, EtcdClientError::RootRejected(_)) && rejected.is_answer(), "{rejected:?}");
        assert!(EtcdClientError::from_status(14, "etcdserver: request timed out").is_answer());
        assert!(!EtcdClientError::from_status(2, "Service was not ready: buffered service failed").is_answer());
    }

    #[test]
    fn an_unimplemented_method_is_an_answer() {
        let error = EtcdClientError::from_status(12, "unknown method MoveLeader for service etcdserverpb.Maintenance");
        assert!(error == EtcdClientError::Unimplemented && error.is_answer());
    }

    #[derive(Debug)]
    struct Wrapper(io::Error);

    impl fmt::Display for Wrapper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("transport error")
        }
    }

    impl StdError for Wrapper {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_cause_is_found_inside() {
        let refused = Wrapper(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(EtcdClientError::from_transport(&refused), EtcdClientError::Refused);
        let down = io::Error::from(io::ErrorKind::HostUnreachable);
        assert_eq!(EtcdClientError::from(etcd_client::Error::IoError(down)), EtcdClientError::Unreachable);
        let other = Wrapper(io::Error::other("unknown protocol"));
        assert_eq!(EtcdClientError::from_transport(&other), EtcdClientError::Connection("unknown protocol".to_owned()));
    }
}
