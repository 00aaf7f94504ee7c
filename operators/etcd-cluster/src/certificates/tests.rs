use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use super::*;

const MEMBER: &str = "c-abc.c.n.svc";

/// An authority, and what it signs.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

fn authority() -> Authority {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let pem = params.self_signed(&key).unwrap().pem();
    Authority { pem, issuer: Issuer::new(params, key) }
}

impl Authority {
    /// The files of a Secret with a certificate for that name, valid in the years 2020 to 2029.
    fn signs(&self, secret: &str, name: &str, usages: &[ExtendedKeyUsagePurpose]) -> TlsPem {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2029, 12, 31));
        params.extended_key_usages = usages.to_vec();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        let files = [("tls.crt", certificate), ("tls.key", key.serialize_pem()), ("ca.crt", self.pem.clone())];
        let file = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.clone());
        TlsPem::read(secret, &TlsFileNames::PEER, file).unwrap()
    }
}

use ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn of_cluster(ca: &Authority) -> TlsPems {
    TlsPems {
        peer: Some(ca.signs("peer", "*.c.n.svc", &[ServerAuth, ClientAuth])),
        server: Some(ca.signs("server", "*.c.n.svc", &[ServerAuth])),
        client: Some(ca.signs("client", "operator", &[ClientAuth])),
    }
}

/// What is wrong with those of a cluster that `change` changes.
fn wrong(change: impl FnOnce(&mut TlsPems, &Authority)) -> String {
    let ca = authority();
    let mut pems = of_cluster(&ca);
    change(&mut pems, &ca);
    check(&pems, MEMBER, now()).unwrap_err()
}

#[test]
fn certificates_of_one_authority_are_accepted() {
    let ca = authority();
    assert_eq!(check(&of_cluster(&ca), MEMBER, now()), Ok(()));
    assert_eq!(check(&TlsPems::default(), MEMBER, now()), Ok(()));
    let pems = of_cluster(&ca);
    assert!(TlsIdentity::parse(pems.client.as_ref().unwrap()).unwrap().client_config().is_ok());
    assert_eq!(pems.authorities().matches("BEGIN CERTIFICATE").count(), 2, "of members alone");
    assert!(!format!("{pems:?}").contains("BEGIN"), "nothing secret is logged");
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    assert_eq!(
        wrong(|pems, ca| pems.peer = Some(ca.signs("peer", "*.other.n.svc", &[ServerAuth, ClientAuth]))),
        "tls.crt of the Secret peer cannot be used: the certificate is not valid for c-abc.c.n.svc, only for \
         *.other.n.svc"
    );
    assert_eq!(
        wrong(|pems, ca| pems.peer = Some(ca.signs("peer", "*.c.n.svc", &[ServerAuth]))),
        "tls.crt of the Secret peer cannot be used: the certificate lacks the extended key usage client authentication"
    );
    assert_eq!(
        wrong(|pems, _| pems.client = Some(authority().signs("client", "operator", &[ClientAuth]))),
        "tls.crt of the Secret server cannot be used: no authority in ca.crt of the Secret client has signed the certificate"
    );
    let ca = authority();
    let pems = of_cluster(&ca);
    let key = pems.server.as_ref().unwrap().key.clone();
    assert_eq!(
        wrong(|pems, _| pems.peer.as_mut().unwrap().key = key),
        "tls.key of the Secret peer cannot be used: it is not the key of the certificate"
    );
    assert_eq!(
        wrong(|pems, _| pems.server.as_mut().unwrap().authorities = "nothing".to_owned()),
        "ca.crt of the Secret server cannot be used: it has no certificate in PEM"
    );
    assert_eq!(
        wrong(|pems, _| pems.client.as_mut().unwrap().key = "nothing".to_owned()),
        "tls.key of the Secret client cannot be used: it has no private key in PEM"
    );
}

#[test]
fn a_renewal_is_due_when_little_of_its_life_is_left() {
    let pems = of_cluster(&authority());
    let renewal = next_renewal(&pems, now()).unwrap();
    // rcgen's authorities are valid for centuries.
    assert_eq!(renewal.file, "tls.crt of the Secret peer");
    assert_eq!(renewal.expires.to_string(), "2029-12-31T00:00:00Z");
    assert_eq!((renewal.due.to_string(), renewal.is_due), ("2029-12-17T00:00:00Z".to_owned(), false));
    assert!(next_renewal(&pems, renewal.due).unwrap().is_due);
    let times = ["2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z"].map(|time| time.parse().unwrap());
    let month = CertificateRenewal::of(String::new(), times[0], times[1], now());
    assert_eq!(month.due.to_string(), "2026-01-28T00:00:00Z", "a tenth of its life before the end");
    assert_eq!(next_renewal(&TlsPems::default(), now()), None);
}

#[test]
fn an_authority_that_has_expired_is_named() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2026, 1, 1));
    let ca = Authority { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) };
    let mut pems = of_cluster(&ca);
    assert_eq!(
        check(&pems, MEMBER, now()).unwrap_err(),
        "ca.crt of the Secret peer cannot be used: the authority expired at 2026-01-01T00:00:00Z: replace it, and the \
         certificates that it signed"
    );
    let other = authority();
    for pem in [&mut pems.peer, &mut pems.server, &mut pems.client] {
        pem.as_mut().unwrap().authorities.push_str(&other.pem);
    }
    assert_eq!(check(&pems, MEMBER, now()), Ok(()), "one of two");
}

#[test]
fn the_time_of_validity_is_named() {
    let pems = of_cluster(&authority());
    let at = |time: &str| check(&pems, MEMBER, time.parse().unwrap()).unwrap_err();
    assert_eq!(
        at("2030-06-01T00:00:00Z"),
        "tls.crt of the Secret peer cannot be used: the certificate expired at 2029-12-31T00:00:00Z: renew it"
    );
    assert_eq!(
        at("2019-06-01T00:00:00Z"),
        "tls.crt of the Secret peer cannot be used: the certificate is not valid before 2020-01-01T00:00:00Z"
    );
}
