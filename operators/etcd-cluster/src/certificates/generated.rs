//! Generates keys, and certificates for them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::issuance::{AUTHORITY_LIFETIME, CERTIFICATE_LIFETIME};
use crate::plan::issued_tls::IssuedCertificate;
use crate::plan::names::fingerprint;

/// A certificate and its key, in PEM.
pub(crate) struct GeneratedKeyPair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A new authority.
///
/// # Errors
/// Of the library.
pub(crate) fn authority(now: Timestamp) -> Result<GeneratedKeyPair, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = of_authority(&key);
    valid(&mut params, now, AUTHORITY_LIFETIME);
    Ok(GeneratedKeyPair { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
}

/// A certificate that the authority with that key signs.
///
/// # Errors
/// If the key cannot be read.
pub(crate) fn certificate(
    authority_key: &str,
    of: IssuedCertificate,
    dns_names: &[String],
    now: Timestamp,
) -> Result<GeneratedKeyPair, rcgen::Error> {
    let signer = KeyPair::from_pem(authority_key)?;
    let issuer = Issuer::new(of_authority(&signer), signer);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(dns_names.to_vec())?;
    params.distinguished_name = named(&format!("etcd {of:?}").to_lowercase());
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    // etcd's own gateway connects to the listener for clients with the certificate of that.
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.extended_key_usages.extend(of.is_of_server().then_some(ExtendedKeyUsagePurpose::ServerAuth));
    valid(&mut params, now, CERTIFICATE_LIFETIME);
    Ok(GeneratedKeyPair { certificate: params.signed_by(&key, &issuer)?.pem(), key: key.serialize_pem() })
}

/// An authority is named after its key, so that those of one cluster are told apart.
fn of_authority(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(&format!("etcd authority {:016x}", fingerprint(&key.public_key_pem())));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut named = DistinguishedName::new();
    named.push(DnType::CommonName, name);
    named
}

/// Days are exact enough. It begins the day before, because clocks of nodes differ.
fn valid(params: &mut CertificateParams, now: Timestamp, lifetime: SignedDuration) {
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = |date: jiff::civil::Date| {
        let (month, day) = (u8::try_from(date.month()).unwrap_or(1), u8::try_from(date.day()).unwrap_or(1));
        date_time_ymd(date.year().into(), month, day)
    };
    params.not_before = day(today.saturating_sub(1.day()));
    params.not_after = day(today.saturating_add(lifetime));
}
