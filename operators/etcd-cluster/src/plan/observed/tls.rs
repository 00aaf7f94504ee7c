//! Pure: what is known of the certificates of a cluster. Pure data.

use jiff::{SignedDuration, Timestamp};

use crate::plan::Explanation;

/// A certificate is to be renewed when a tenth of its life is left, and at the latest when this is: cert-manager renews it when a third
/// is left.
const LAST_CALL: SignedDuration = SignedDuration::from_hours(14 * 24);

/// What is known of the Secrets of `spec.TLS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedTls {
    /// The part of `spec.TLS` that is refused. No pod is replaced for the spec meanwhile.
    pub refusal: Option<Explanation>,
    /// Why the Secrets cannot be used: no pod is created with them that need not be.
    pub unusable: Option<Explanation>,
    /// A fingerprint of the authorities that members verify others by; none while that is unknown. etcd reads them at its start
    /// only, and the certificates for each connection.
    pub authorities: Option<String>,
    /// The next renewal that is due.
    pub renewal: Option<CertificateRenewal>,
    /// What the operator has to do about certificates that it issues.
    pub issuance: DueIssuance,
}

/// What the operator has to do about certificates that it issues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DueIssuance {
    /// Whether an authority or a certificate has to be written now.
    pub now: bool,
    /// Whether an authority has a successor, which signs once all members know it.
    pub once_rolled: bool,
}

/// When a certificate has to be renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRenewal {
    /// The file and the Secret.
    pub file: String,
    /// When it expires.
    pub expires: Timestamp,
    /// When little of its life is left.
    pub due: Timestamp,
    /// Whether that is so now.
    pub is_due: bool,
}

impl CertificateRenewal {
    /// That of a certificate which is valid for that time.
    #[must_use]
    pub fn of(file: String, begins: Timestamp, expires: Timestamp, now: Timestamp) -> Self {
        let last = (expires.duration_since(begins) / 10).min(LAST_CALL);
        let due = expires.checked_sub(last).unwrap_or(expires);
        Self { file, expires, due, is_due: now >= due }
    }
}
