//! Pure: which certificates and authorities the operator has to issue next, by what its Secrets hold.
//!
//! A cluster has two authorities, for members among themselves and for clients, each with a Secret of its own. An authority is replaced in
//! three steps, of which only the second one restarts members, once:
//!
//! 1. Its successor exists, and everyone gets both certificates to verify others by. Neither signs with the successor yet.
//! 2. etcd reads authorities at its start only, so the members restart, one after the other, by the usual rollout.
//! 3. Once all members know both, and applications have had time to read theirs, the successor signs, and all certificates are issued
//!    again, which etcd reads for each connection. The certificate of the predecessor stays until the next replacement.

use std::collections::BTreeMap;

use agent_protocol::TlsFileNames;
use jiff::{SignedDuration, Timestamp};

use super::{TlsIdentity, TlsPem};
use crate::plan::issued_tls::IssuedCertificate;

/// How long an authority is valid.
pub const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 3650);
/// How long a certificate is valid.
pub const CERTIFICATE_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 90);
/// How long an authority is still valid when it is replaced: longer than any certificate that it has signed.
const AUTHORITY_LEFT: SignedDuration = SignedDuration::from_hours(24 * 365);
/// The share of its lifetime that is left of a certificate when it is renewed, as with cert-manager: a third.
const CERTIFICATE_LEFT: i32 = 3;

/// The files of a Secret with a certificate, and of one with an authority.
pub const CERTIFICATE: &str = "tls.crt";
/// The private key.
pub const KEY: &str = "tls.key";
/// The certificates to verify others by.
pub const TRUSTED: &str = "ca.crt";
/// The certificate of the successor of an authority.
pub const NEXT_CERTIFICATE: &str = "next.crt";
/// The key of that.
pub const NEXT_KEY: &str = "next.key";
/// The value of the annotation for which an authority was replaced last.
pub const REQUEST: &str = "request";
/// When the successor was created.
pub const NEXT_SINCE: &str = "next-since";

/// How long applications have to read the certificate of a successor before members present what it has signed. The kubelet renews mounted
/// files within minutes; processes may read them daily.
const READ_WITHIN: SignedDuration = SignedDuration::from_hours(24);

/// What a Secret holds, by file; none if it does not exist.
pub type Files<'a> = Option<&'a BTreeMap<String, String>>;

/// The next step with an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorityStep {
    /// Create it. Nothing has been signed.
    Create,
    /// Create a successor: this one has been lost, expires or is to be replaced.
    Succeed,
    /// Let the successor sign, since all members know it.
    Promote,
}

/// The next step with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateStep {
    /// Issue it, with another key.
    Issue,
    /// Write down the authorities to verify others by.
    Trust,
}

/// What is known of an authority.
#[derive(Clone, Copy, Debug)]
pub struct AuthorityState<'a> {
    /// The name of its Secret.
    pub secret: &'a str,
    /// What that holds.
    pub files: Files<'a>,
    /// The Secrets with the certificates that it has signed.
    pub signed: &'a [Files<'a>],
    /// The value of the annotation that requests a replacement.
    pub request: Option<&'a str>,
    /// Whether all members have started with what the Secrets `signed` say of authorities.
    pub rolled: bool,
    /// Whether any member runs with an authority of the operator's.
    pub in_use: bool,
}

/// The next step with an authority.
///
/// # Errors
/// If there is none that does no harm, or the Secret cannot be used.
pub fn authority_step(state: &AuthorityState<'_>, now: Timestamp) -> Result<Option<AuthorityStep>, String> {
    let AuthorityState { secret, signed, request, .. } = *state;
    let Some(files) = state.files else {
        return match signed.iter().flatten().any(|files| files.contains_key(TRUSTED)) {
            true => Ok(Some(AuthorityStep::Succeed)),
            false if state.in_use => Err(format!(
                "the Secret {secret} and all certificates that it has signed are gone, and members that run accept no others: stop all members \
                 (spec.hibernate: true), and start them again once the operator has issued new ones"
            )),
            false => Ok(Some(AuthorityStep::Create)),
        };
    };
    if next(files).is_some() {
        return Ok(may_sign(state, files, now).then_some(AuthorityStep::Promote));
    }
    let unusable = |why: &str| format!("{why}; delete it, and the operator creates another authority");
    let own = identity(secret, files).map_err(|why| unusable(&why))?;
    let (_, expires) = own.valid().ok_or_else(|| unusable("its certificate does not say when it expires"))?;
    let ends = expires.duration_since(now) < AUTHORITY_LEFT;
    Ok((ends || is_requested(files, request)).then_some(AuthorityStep::Succeed))
}

/// Whether there is a request that was not the reason for the last step.
fn is_requested(files: &BTreeMap<String, String>, request: Option<&str>) -> bool {
    request.is_some_and(|request| files.get(REQUEST).map(String::as_str) != Some(request))
}

/// Whether the successor of an authority may sign: all certificates come with it, or the present one is of no use any more. Another
/// request does not wait longer for applications.
fn may_sign(state: &AuthorityState<'_>, files: &BTreeMap<String, String>, now: Timestamp) -> bool {
    let lost = !files.contains_key(CERTIFICATE);
    let ended = |files: &BTreeMap<String, String>| {
        identity("", files).ok().and_then(|identity| identity.valid()).is_none_or(|(_, expires)| expires < now)
    };
    if lost && state.signed.iter().any(|files| files.is_none_or(ended)) {
        return true;
    }
    let informed = |of: &Files<'_>| of.is_some_and(|of| trusts(of, files));
    let since = files.get(NEXT_SINCE).and_then(|since| since.parse::<Timestamp>().ok());
    let read = since.is_none_or(|since| now.duration_since(since) >= READ_WITHIN);
    state.rolled && state.signed.iter().all(informed) && (read || is_requested(files, state.request))
}

/// Whether a certificate comes with the authorities that it is to come with.
fn trusts(certificate: &BTreeMap<String, String>, authority: &BTreeMap<String, String>) -> bool {
    let of = |files: &BTreeMap<String, String>| files.get(TRUSTED).map(|text| text.trim().to_owned());
    of(certificate) == of(authority)
}

/// The next step with a certificate of that authority.
#[must_use]
pub fn certificate_step(
    authority: &BTreeMap<String, String>,
    certificate: Files<'_>,
    of: IssuedCertificate,
    dns_names: &[String],
    now: Timestamp,
) -> Option<CertificateStep> {
    let trusts = certificate.is_some_and(|files| trusts(files, authority));
    // An authority that was lost signs nothing. Members know its certificate still.
    let Some(signed_by) = authority.get(CERTIFICATE) else {
        return (certificate.is_some() && !trusts).then_some(CertificateStep::Trust);
    };
    if certificate.is_none_or(|files| must_be_issued(files, signed_by, of, dns_names, now)) {
        return Some(CertificateStep::Issue);
    }
    (!trusts).then_some(CertificateStep::Trust)
}

/// What all that an authority signs for are to trust, once it has a successor with that certificate: the two, and nothing before them.
#[must_use]
pub fn trusted_with(authority: Files<'_>, signed: &[Files<'_>], successor: &str) -> String {
    let own = authority.and_then(|files| files.get(CERTIFICATE));
    // The Secret of the authority was deleted: what its certificates say of it.
    let left = || signed.iter().flatten().find_map(|files| files.get(TRUSTED));
    let before = own.or_else(left).map_or("", |text| text.trim());
    format!("{before}\n{}\n", successor.trim()).trim_start().to_owned()
}

/// The files of the successor of an authority.
fn next(files: &BTreeMap<String, String>) -> Option<(&str, &str)> {
    Some((files.get(NEXT_CERTIFICATE)?, files.get(NEXT_KEY)?))
}

/// The files of an authority whose successor signs from now on. That is also what a `request` since then was for.
#[must_use]
pub fn promoted(files: &BTreeMap<String, String>, request: Option<&str>) -> Option<BTreeMap<String, String>> {
    let (certificate, key) = next(files)?;
    let mut promoted = files.clone();
    promoted.insert(CERTIFICATE.to_owned(), certificate.to_owned());
    promoted.insert(KEY.to_owned(), key.to_owned());
    promoted.remove(NEXT_CERTIFICATE);
    promoted.remove(NEXT_KEY);
    promoted.remove(NEXT_SINCE);
    promoted.extend(request.map(|request| (REQUEST.to_owned(), request.to_owned())));
    Some(promoted)
}

/// Whether a certificate does not serve any more, or not for long.
fn must_be_issued(
    files: &BTreeMap<String, String>,
    signed_by: &str,
    of: IssuedCertificate,
    dns_names: &[String],
    now: Timestamp,
) -> bool {
    let mut by_signer = files.clone();
    by_signer.insert(TRUSTED.to_owned(), signed_by.to_owned());
    let Ok(identity) = identity("", &by_signer) else { return true };
    // What a wildcard stands for.
    let names = dns_names.iter().map(|name| name.replacen('*', "member", 1));
    let rejected = of != IssuedCertificate::Server && identity.check_as_client(&identity, now).is_err()
        || of.is_of_server() && { names }.any(|name| identity.check_as_server(&identity, &name, now).is_err());
    let ends = identity.valid().is_none_or(|(begins, expires)| {
        expires.duration_since(now) < expires.duration_since(begins) / CERTIFICATE_LEFT
    });
    rejected || ends
}

fn identity(secret: &str, files: &BTreeMap<String, String>) -> Result<TlsIdentity, String> {
    TlsIdentity::parse(&TlsPem::read(secret, &TlsFileNames::PEER, |name| files.get(name).cloned())?)
}

#[cfg(test)]
mod tests;
