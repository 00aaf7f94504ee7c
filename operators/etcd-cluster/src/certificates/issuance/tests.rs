//! Decisions about certificates that the operator issues, with real keys.

use std::sync::Arc;

use runtime::cache::Projection as _;
use serde_json::json;

use super::*;
use crate::EtcdCluster;
use crate::certificates::{self, TlsPems, generated};

type Stored = BTreeMap<String, String>;

fn at(days: i64) -> Timestamp {
    let begin: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
    begin.checked_add(SignedDuration::from_hours(24 * days)).unwrap()
}

fn cluster() -> EtcdCluster {
    let object = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u" }, "spec": { "size": 3 } });
    EtcdCluster::decode(&object.to_string()).unwrap()
}

fn names(of: IssuedCertificate) -> Vec<String> {
    of.dns_names(&cluster(), "cluster.local")
}

fn stored<const N: usize>(files: [(&str, String); N]) -> Stored {
    files.map(|(name, text)| (name.to_owned(), text)).into()
}

fn authority(now: Timestamp) -> Stored {
    let generated = generated::authority(now).unwrap();
    let trusted = trusted_with(None, &[], &generated.certificate);
    stored([(CERTIFICATE, generated.certificate), (KEY, generated.key), (TRUSTED, trusted)])
}

fn signed(by: &Stored, of: IssuedCertificate, now: Timestamp) -> Stored {
    let generated = generated::certificate(&by[KEY], of, &names(of), now).unwrap();
    stored([(CERTIFICATE, generated.certificate), (KEY, generated.key), (TRUSTED, by[TRUSTED].clone())])
}

/// The same with a successor.
fn succeeded(files: &Stored, now: Timestamp) -> Stored {
    let next = generated::authority(now).unwrap();
    let trusted = trusted_with(Some(files), &[], &next.certificate);
    let mut files = files.clone();
    let since = (NEXT_SINCE, now.to_string());
    files.extend(stored([(NEXT_CERTIFICATE, next.certificate), (NEXT_KEY, next.key), (TRUSTED, trusted), since]));
    files
}

fn step(
    files: Files<'_>,
    signed: &[Files<'_>],
    rolled: bool,
    request: Option<&str>,
    now: Timestamp,
) -> Option<AuthorityStep> {
    authority_step(&AuthorityState { secret: "c-peer-ca", files, signed, request, rolled, in_use: true }, now).unwrap()
}

fn of(by: &Stored, certificate: Files<'_>, of: IssuedCertificate, now: Timestamp) -> Option<CertificateStep> {
    certificate_step(by, certificate, of, &names(of), now)
}

const ALL: [IssuedCertificate; 4] =
    [IssuedCertificate::Peer, IssuedCertificate::Server, IssuedCertificate::Operator, IssuedCertificate::Application];

#[test]
fn what_is_issued_is_accepted_by_members_clients_and_the_operator() {
    let (members, clients) = (authority(at(0)), authority(at(0)));
    let pem = |by: &Stored, of, layouts| {
        let files = signed(by, of, at(0));
        Some(TlsPem::read("s", layouts, |name| files.get(name).cloned()).unwrap())
    };
    let pems = TlsPems {
        peer: pem(&members, IssuedCertificate::Peer, &TlsFileNames::PEER),
        server: pem(&clients, IssuedCertificate::Server, &TlsFileNames::SERVER),
        client: pem(&clients, IssuedCertificate::Operator, &TlsFileNames::CLIENT),
    };
    for member in ["c-abc.c.n.svc", "c-abc.c.n.svc.cluster.local"] {
        assert_eq!(certificates::check(&pems, member, at(1)), Ok(()));
    }
    assert!(certificates::check(&pems, "c-abc.other.n.svc", at(1)).is_err());
    assert!(
        !certificates::next_renewal(&pems, at(60)).unwrap().is_due,
        "the operator renews it before users are warned"
    );
    let object = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u" },
        "spec": { "size": 1, "pod": { "ClusterDomain": ".corp.example" } } });
    let renamed = EtcdCluster::decode(&object.to_string()).unwrap();
    let all = IssuedCertificate::Server.dns_names(&renamed, "cluster.local");
    let has = |name: &str| all.iter().any(|of| of == name);
    assert!(has("*.c.n.svc.corp.example") && has("c-client.n.svc.corp.example") && has("localhost"), "{all:?}");
}

#[test]
fn nothing_is_due_of_new_certificates() {
    let by = authority(at(0));
    let absent = AuthorityState {
        secret: "c-peer-ca",
        files: None,
        signed: &[None],
        request: None,
        rolled: false,
        in_use: false,
    };
    assert_eq!(authority_step(&absent, at(0)), Ok(Some(AuthorityStep::Create)));
    // Members that run with certificates of which nothing is left would reject all others.
    let why = authority_step(&AuthorityState { in_use: true, ..absent }, at(0)).unwrap_err();
    assert!(why.contains("spec.hibernate"), "{why}");
    for kind in ALL {
        let certificate = signed(&by, kind, at(0));
        assert_eq!(step(Some(&by), &[Some(&certificate)], true, None, at(0)), None);
        assert_eq!(of(&by, Some(&certificate), kind, at(0)), None, "{kind:?}");
        assert_eq!(of(&by, None, kind, at(0)), Some(CertificateStep::Issue));
    }
}

#[test]
fn certificates_are_renewed_with_a_third_of_their_life_left_and_after_edits() {
    let by = authority(at(0));
    for kind in ALL {
        let certificate = signed(&by, kind, at(0));
        assert_eq!(
            (of(&by, Some(&certificate), kind, at(59)), of(&by, Some(&certificate), kind, at(61))),
            (None, Some(CertificateStep::Issue))
        );
        for (file, text) in [(CERTIFICATE, "no"), (KEY, "no"), (CERTIFICATE, &*by[CERTIFICATE]), (KEY, &*by[KEY])] {
            let mut edited = certificate.clone();
            edited.insert(file.to_owned(), text.to_owned());
            assert_eq!(of(&by, Some(&edited), kind, at(0)), Some(CertificateStep::Issue), "{kind:?} {file}");
        }
        let mut without = certificate.clone();
        without.remove(TRUSTED);
        assert_eq!(of(&by, Some(&without), kind, at(0)), Some(CertificateStep::Trust));
        let of_other = signed(&authority(at(0)), kind, at(0));
        assert_eq!(of(&by, Some(&of_other), kind, at(0)), Some(CertificateStep::Issue));
    }
    let elsewhere =
        generated::certificate(&by[KEY], IssuedCertificate::Peer, &["*.c.other.svc".to_owned()], at(0)).unwrap();
    let elsewhere =
        stored([(CERTIFICATE, elsewhere.certificate), (KEY, elsewhere.key), (TRUSTED, by[TRUSTED].clone())]);
    assert_eq!(of(&by, Some(&elsewhere), IssuedCertificate::Peer, at(0)), Some(CertificateStep::Issue));
}

/// At no point is there a certificate that someone who has restarted, or has not, rejects.
#[test]
fn an_authority_is_replaced_with_both_known_before_the_new_one_signs() {
    let old = authority(at(0));
    assert_eq!(step(Some(&old), &[], false, None, at(3284)), None);
    assert_eq!(step(Some(&old), &[], false, None, at(3290)), Some(AuthorityStep::Succeed));
    assert_eq!(step(Some(&old), &[], false, Some("now"), at(0)), Some(AuthorityStep::Succeed));
    let mut both = succeeded(&old, at(1));
    both.insert(REQUEST.to_owned(), "now".to_owned());
    let certificate = signed(&old, IssuedCertificate::Peer, at(0));
    assert_eq!(
        step(Some(&both), &[Some(&certificate)], false, Some("now"), at(1)),
        None,
        "not before they have restarted"
    );
    assert_eq!(
        of(&both, Some(&certificate), IssuedCertificate::Peer, at(1)),
        Some(CertificateStep::Trust),
        "the same certificate"
    );
    assert_eq!(both[TRUSTED].matches("BEGIN CERTIFICATE").count(), 2);

    // Not before all certificates come with both: a write may have failed. Nor before applications have read them.
    assert_eq!(step(Some(&both), &[Some(&certificate)], true, Some("now"), at(9)), None);
    let trusting = stored([
        (CERTIFICATE, certificate[CERTIFICATE].clone()),
        (KEY, certificate[KEY].clone()),
        (TRUSTED, both[TRUSTED].clone()),
    ]);
    let promotes = |rolled, request, now| step(Some(&both), &[Some(&trusting)], rolled, Some(request), now);
    assert_eq!((promotes(false, "now", at(9)), promotes(true, "now", at(1))), (None, None));
    assert_eq!(promotes(true, "now", at(2)), Some(AuthorityStep::Promote));
    assert_eq!(promotes(true, "at once", at(1)), Some(AuthorityStep::Promote));
    let new = promoted(&both, Some("at once")).unwrap();
    assert_eq!((&new[TRUSTED], &new[CERTIFICATE]), (&both[TRUSTED], &both[NEXT_CERTIFICATE]), "no second restart");
    assert_eq!(step(Some(&new), &[Some(&trusting)], true, Some("at once"), at(1)), None, "once for each request");
    assert_eq!(of(&new, Some(&trusting), IssuedCertificate::Peer, at(1)), Some(CertificateStep::Issue));
    let issued = signed(&new, IssuedCertificate::Peer, at(1));
    assert_eq!(of(&new, Some(&issued), IssuedCertificate::Peer, at(1)), None);
    // The next replacement drops the first authority.
    let third = succeeded(&new, at(2));
    assert_eq!(third[TRUSTED].matches("BEGIN CERTIFICATE").count(), 2);
    assert!(!third[TRUSTED].contains(old[CERTIFICATE].trim()));
}

/// Its key is lost. Members know its certificate, and must learn the new one before they meet it.
#[test]
fn an_authority_whose_secret_was_deleted_gets_a_successor() {
    let old = authority(at(0));
    let certificate = signed(&old, IssuedCertificate::Peer, at(0));
    assert_eq!(step(None, &[Some(&certificate)], false, None, at(1)), Some(AuthorityStep::Succeed));
    let next = generated::authority(at(1)).unwrap();
    let trusted = trusted_with(None, &[Some(&certificate)], &next.certificate);
    let lost = stored([(NEXT_CERTIFICATE, next.certificate), (NEXT_KEY, next.key), (TRUSTED, trusted)]);
    assert!(lost[TRUSTED].contains(old[CERTIFICATE].trim()));
    assert_eq!(of(&lost, Some(&certificate), IssuedCertificate::Peer, at(80)), Some(CertificateStep::Trust));
    assert_eq!(step(Some(&lost), &[Some(&certificate)], false, None, at(1)), None);
    let mut trusting = certificate.clone();
    trusting.insert(TRUSTED.to_owned(), lost[TRUSTED].clone());
    assert_eq!(step(Some(&lost), &[Some(&trusting)], true, None, at(1)), Some(AuthorityStep::Promote));
    let new = promoted(&lost, None).unwrap();
    assert_eq!(of(&new, Some(&trusting), IssuedCertificate::Peer, at(1)), Some(CertificateStep::Issue));
    // There is no waiting for a certificate that is gone, or has expired.
    assert_eq!(step(Some(&lost), &[Some(&trusting), None], false, None, at(1)), Some(AuthorityStep::Promote));
    assert_eq!(step(Some(&lost), &[Some(&trusting)], false, None, at(95)), Some(AuthorityStep::Promote));
}

#[test]
fn an_authority_that_cannot_be_read_is_named() {
    let mut broken = authority(at(0));
    broken.insert(KEY.to_owned(), "no".to_owned());
    let state = AuthorityState {
        secret: "c-peer-ca",
        files: Some(&broken),
        signed: &[],
        request: None,
        rolled: false,
        in_use: true,
    };
    let why = authority_step(&state, at(0)).unwrap_err();
    assert!(why.starts_with("tls.key of the Secret c-peer-ca cannot be used: it has no private key"), "{why}");
    assert!(why.ends_with("delete it, and the operator creates another authority"), "{why}");
}

#[test]
fn the_secrets_take_the_places_of_those_that_users_provide() {
    let object = json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u" },
        "spec": { "size": 3, "TLS": { "issued": { "members": false } } } });
    let cluster = Arc::new(EtcdCluster::decode(&object.to_string()).unwrap());
    let effective = crate::plan::issued_tls::effective(&cluster);
    let tls = effective.spec.tls.as_ref().unwrap();
    assert_eq!(
        (tls.peer_secret(), tls.server_secret(), tls.operator_secret()),
        (None, Some("c-server-tls"), Some("c-operator-tls"))
    );
    assert_eq!(
        crate::plan::issued_tls::secrets(&cluster),
        ["c-client-ca", "c-server-tls", "c-operator-tls", "c-client-tls"]
    );
    let resolver =
        "nameserver 10.96.0.10\nsearch team-a.svc.corp.example svc.corp.example corp.example\noptions ndots:5\n";
    assert_eq!(crate::plan::issued_tls::domain(resolver), Some("corp.example"));
    assert_eq!(crate::plan::issued_tls::domain("nameserver 1.1.1.1\nsearch home\n"), None);
}
