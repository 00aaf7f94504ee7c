//! Pure: what the errors of an object store mean. A store answers with XML, which has a code and a sentence.

use std::time::Duration;

use agent_protocol::StoreApi;
use object_store::Error;

use crate::failure::{CommandFailure, Reason, cut};

/// The longest text of an error.
const LONGEST: usize = 500;

/// Codes of S3 and of Azure, and what they mean; Google's are S3's.
const CODES: [(&str, Reason); 19] = [
    ("InvalidAccessKeyId", Reason::AuthenticationFailed),
    ("SignatureDoesNotMatch", Reason::AuthenticationFailed),
    ("ExpiredToken", Reason::AuthenticationFailed),
    ("InvalidToken", Reason::AuthenticationFailed),
    ("RequestTimeTooSkewed", Reason::AuthenticationFailed),
    ("AccessDenied", Reason::PermissionDenied),
    ("AllAccessDisabled", Reason::PermissionDenied),
    ("NoSuchBucket", Reason::BadInput),
    ("PermanentRedirect", Reason::BadInput),
    ("AuthorizationHeaderMalformed", Reason::BadInput),
    ("QuotaExceeded", Reason::NoSpace),
    ("XMinioStorageFull", Reason::NoSpace),
    ("AuthenticationFailed", Reason::AuthenticationFailed),
    ("InvalidAuthenticationInfo", Reason::AuthenticationFailed),
    ("AuthorizationFailure", Reason::PermissionDenied),
    ("AuthorizationPermissionMismatch", Reason::PermissionDenied),
    ("AccountIsDisabled", Reason::PermissionDenied),
    ("ContainerNotFound", Reason::BadInput),
    ("ContainerBeingDeleted", Reason::BadInput),
];

/// What was tried.
pub(super) struct StoreRequest<'a> {
    pub(super) api: StoreApi,
    pub(super) what: &'static str,
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
}

impl StoreRequest<'_> {
    /// Whether the object does not exist, but the bucket does.
    pub(super) fn is_missing_object(&self, error: &Error) -> bool {
        let text = texts(error).join(": ");
        let no_bucket = matches!(element(&text, "Code"), Some("NoSuchBucket" | "ContainerNotFound"));
        matches!(error, Error::NotFound { .. }) && !no_bucket
    }

    pub(super) fn failure(&self, error: &Error) -> CommandFailure {
        let texts = texts(error);
        let text = texts.join(": ");
        let (code, says) = (element(&text, "Code"), element(&text, "Message"));
        let known = CODES.iter().find(|(name, _)| code == Some(*name)).map(|(_, reason)| *reason);
        let reason = known.unwrap_or_else(|| match error {
            Error::Unauthenticated { .. } => Reason::AuthenticationFailed,
            Error::PermissionDenied { .. } => Reason::PermissionDenied,
            _ if text.contains("certificate") => Reason::AuthenticationFailed,
            _ if text.contains("507 ") => Reason::NoSpace,
            _ => Reason::ConnectionFailed,
        });
        let cause = match (code, says) {
            (Some(code), Some(says)) => format!("{code}: {says}"),
            (Some(code), None) => code.to_owned(),
            _ => texts.last().map(|text| text.trim().to_owned()).unwrap_or_default(),
        };
        CommandFailure::new(reason, format!("{} cannot be {}: {}", self.object(), self.what, cut(&cause, LONGEST)))
    }

    pub(super) fn timeout(&self, after: Duration) -> CommandFailure {
        let message = format!("{} was not {} within {} s", self.object(), self.what, after.as_secs());
        CommandFailure::new(Reason::ConnectionFailed, message)
    }

    /// The store reports that there is no such object where none is needed.
    pub(super) fn vanished(&self) -> CommandFailure {
        let message = format!("{} cannot be {}: the store reports that it does not exist", self.object(), self.what);
        CommandFailure::new(Reason::ConnectionFailed, message)
    }

    /// The object, such as `s3://bucket/key`.
    pub(super) fn object(&self) -> String {
        format!("{}://{}/{}", self.api.scheme(), self.bucket, self.key)
    }
}

/// The texts of an error and of its causes. The last one names no request: "connection refused" is below "client error (Connect)".
fn texts(error: &Error) -> Vec<String> {
    let error: &dyn std::error::Error = error;
    std::iter::successors(Some(error), |error| error.source()).map(|error| error.to_string()).collect()
}

/// The text of the first element of that name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let after = text.split_once(&format!("<{name}>"))?.1;
    after.split_once(&format!("</{name}>")).map(|(inner, _)| inner.trim()).filter(|inner| !inner.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: StoreRequest<'static> = StoreRequest { api: StoreApi::S3, what: "written", bucket: "b", key: "k" };

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.into() }
    }

    #[test]
    fn the_code_of_the_store_is_the_reason_and_its_sentence_the_message() {
        let wrong = "Server returned non-2xx status code: 403 Forbidden: <?xml version=\"1.0\"?><Error><Code>InvalidAccessKeyId\
                     </Code><Message>The key does not exist.</Message><AWSAccessKeyId>AK</AWSAccessKeyId></Error>";
        let failure = REQUEST.failure(&Error::PermissionDenied { path: "k".into(), source: wrong.into() });
        assert_eq!(failure.reason(), Reason::AuthenticationFailed);
        assert_eq!(failure.message(), "s3://b/k cannot be written: InvalidAccessKeyId: The key does not exist.");
        let refused = REQUEST.failure(&generic("Connection refused (os error 111)"));
        assert_eq!(refused.reason(), Reason::ConnectionFailed);
        assert!(refused.message().ends_with("Connection refused (os error 111)"), "{}", refused.message());
    }

    #[test]
    fn an_object_is_missing_only_in_a_bucket_that_exists() {
        let missing = |code: &str| Error::NotFound {
            path: "k".into(),
            source: format!("404: <Error><Code>{code}</Code></Error>").into(),
        };
        assert!(REQUEST.is_missing_object(&missing("NoSuchKey")));
        assert!(!REQUEST.is_missing_object(&missing("NoSuchBucket")));
        assert!(!REQUEST.is_missing_object(&missing("ContainerNotFound")));
        assert_eq!(REQUEST.failure(&missing("NoSuchBucket")).reason(), Reason::BadInput);
        assert!(!REQUEST.is_missing_object(&generic("no")));
    }
}
