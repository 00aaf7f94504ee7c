//! TLS from Secrets: between members, for clients, switched on and off, and with other certificates and authorities.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use api::ConditionStatus;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::etcd_backup::{Backup, volume};
use e2e::kubectl::Answer;
use e2e::objects::ManagedKind as _;
use serde_json::json;

#[path = "etcd_tls/authority.rs"]
mod authority;
#[path = "etcd_tls/issued.rs"]
mod issued;

use authority::{Authority, DAYS, Layout};

const TLS: &str = "{static: {member: {peerSecret: peer, serverSecret: server}, operatorSecret: client}}";

/// How long the first certificates of a cluster are valid whose certificates are renewed.
const SHORT: Duration = Duration::from_secs(180);

/// The longest refusal of writes while members are replaced one after the other.
const LONGEST_REFUSAL: Duration = Duration::from_secs(5);

const TLS_URL: &str = "https://localhost:2379";
const PLAIN_URL: &str = "http://localhost:2379";

/// A put in a member's pod, by the certificate that clients are served with, which that authority has to have signed.
async fn put(etcd: &Etcd<'_>, member: &str, url: &str, certified: bool, authority: &str) -> Answer {
    let file = |flag: &str, name: &str| format!("--{flag}=/etc/etcdtls/member/server-tls/{name}");
    let authority = file("cacert", &format!("{authority}.crt"));
    let (certificate, key) = (file("cert", "tls.crt"), file("key", "tls.key"));
    let endpoint = format!("--endpoints={url}");
    let mut arguments = vec![&*endpoint, "--command-timeout=5s", "--dial-timeout=5s"];
    if url == TLS_URL {
        arguments.push(&authority);
    }
    if certified {
        arguments.extend([&*certificate, &*key]);
    }
    arguments.extend(["put", "key", "value"]);
    etcd.etcdctl(member, &arguments).await
}

#[tokio::test]
async fn members_and_clients_need_certificates_which_are_renewed_without_a_restart() {
    let ns = namespace("etcd-tls").await;
    let etcd = Etcd::apply(&ns, "web", &format!("{{size: 3, TLS: {TLS}}}")).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "TLSSecretInvalid").await;
    assert!(message.contains("the Secret peer of spec.TLS does not exist"), "{message}");
    assert!(etcd.pods().await.is_empty() && etcd.claims().await.is_empty(), "{message}");
    let ca = Authority::new("one");
    let begun = Instant::now();
    ca.writes_secrets(&ns, "web", Layout::CertManager, SHORT, &ca.pem).await;
    let cluster = etcd.runs(3).await;
    let member = ids(&cluster).into_keys().next().expect("a member");

    assert!(put(&etcd, &member, TLS_URL, true, "one").await.success);
    for url in [TLS_URL, PLAIN_URL] {
        assert!(
            !put(&etcd, &member, url, false, "one").await.success,
            "{url}: a client without a certificate is served"
        );
    }
    let message = etcd.says("Warning", ConditionStatus::True, "CertificateExpiring").await;
    assert!(message.contains("tls.crt of the Secret") && message.contains("renew it"), "{message}");
    let writer = Writer::with_certificate(&etcd, "https").await;
    let pods = etcd.pod_uids().await;

    ca.writes_secrets(&ns, "web", Layout::CertManager, DAYS, &ca.pem).await;
    // Connections that are opened from then on need the new certificates.
    let passed = || async {
        let left = (SHORT + Duration::from_secs(5)).checked_sub(begun.elapsed());
        left.map_or(Ok(()), |left| Err(format!("the first certificates are valid for {left:.0?} more")))
    };
    ns.eventually("the first certificates to expire", passed).await;
    let renewed = || async {
        let answer = put(&etcd, &member, TLS_URL, true, "one").await;
        if answer.success { Ok(()) } else { Err(answer.stderr) }
    };
    ns.eventually("a member to serve with the new certificate", renewed).await;
    let verdict = writer.verdict(&etcd.runs(3).await).await;
    assert_eq!((verdict.unacknowledged, etcd.pod_uids().await), (0, pods), "no write fails, and nothing is restarted");
    etcd.until("no warning", |cluster| cluster.condition("Warning").is_none().then_some(())).await;

    // A member that returns, and one that joins, connect to the others with them.
    etcd.lose_pods(&[&member]).await;
    etcd.runs(3).await;
    etcd.scale(5).await;
    let cluster = etcd.runs(5).await;
    writer.verdict(&cluster).await.never_refused_for(LONGEST_REFUSAL);

    volume(&ns, "store", "64Mi").await;
    let backup = Backup::apply(&ns, "once", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    let taken = backup.has(1).await.backups.remove(0);
    assert!(taken.member.starts_with("https://web-"), "{taken:?}");
    let url = &taken.member;
    let spec = |secret: &str| {
        format!(
            "{{etcdEndpoints: ['{url}'], clientTLSSecret: {secret}, version: '{}', pvc: {{claimName: store}}}}",
            taken.version
        )
    };
    Backup::apply(&ns, "by-url", &spec("writer")).await.has(1).await;
    let wrong = Backup::apply(&ns, "wrong", &spec("absent")).await;
    wrong.reports("BackupFailed", &["the Secret in", "cannot be used: it has neither etcd-client.crt"]).await;
}

#[tokio::test]
async fn clients_of_a_running_cluster_change_over_to_tls() {
    let ns = namespace("etcd-tls-later").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let ca = Authority::new("one");
    ca.writes_secrets(&ns, "web", Layout::Archived, DAYS, &ca.pem).await;
    let plain = Writer::with_certificate(&etcd, "http").await;

    // Between members it cannot be switched on.
    let pods = etcd.pod_uids().await;
    etcd.patch(json!({ "TLS": { "static": { "member": { "peerSecret": "peer" } } } })).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "TLSChangeRefused").await;
    assert!(message.contains("reach one another without TLS"), "{message}");
    etcd.patch(json!({ "TLS": null })).await;
    etcd.runs(3).await;
    // Nor with a Secret that is missing.
    let clients = |server: &str, plaintext: bool| {
        let certificates = json!({ "member": { "serverSecret": server }, "operatorSecret": "client" });
        json!({ "TLS": { "static": certificates, "allowPlaintext": plaintext } })
    };
    etcd.patch(clients("absent", true)).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "TLSSecretInvalid").await;
    assert!(message.contains("the Secret absent") && message.contains("members keep their pods"), "{message}");
    assert_eq!(etcd.pod_uids().await, pods);

    etcd.patch(clients("server", true)).await;
    etcd.runs(3).await;
    let secure = Writer::with_certificate(&etcd, "https").await;
    plain.writes(20).await;
    plain.verdict(&etcd.runs(3).await).await.never_refused_for(LONGEST_REFUSAL);
    plain.stop().await;
    etcd.patch(clients("server", false)).await;
    let after = etcd.runs(3).await;
    let member = ids(&after).into_keys().next().expect("a member");
    assert!(!put(&etcd, &member, PLAIN_URL, false, "one").await.success, "plaintext is served no more");
    secure.writes(20).await;
    secure.verdict(&after).await.never_refused_for(LONGEST_REFUSAL);
    assert_eq!(ids(&after), ids(&before));

    etcd.patch(json!({ "TLS": null })).await;
    etcd.runs(3).await;
    assert!(put(&etcd, &member, PLAIN_URL, false, "one").await.success, "without TLS again");
}

#[tokio::test]
async fn authorities_are_replaced_under_writes() {
    let ns = namespace("etcd-tls-authority").await;
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    old.writes_secrets(&ns, "web", Layout::CertManager, DAYS, &old.pem).await;
    let etcd = Etcd::apply(&ns, "web", &format!("{{size: 3, TLS: {TLS}}}")).await;
    let before = etcd.runs(3).await;
    let writer = Writer::with_certificate(&etcd, "https").await;
    let both = format!("{}{}", old.pem, new.pem);
    let write = async |authority: &Authority, trusted: &str| {
        authority.writes_secrets(&ns, "web", Layout::CertManager, DAYS, trusted).await;
    };
    let replaced = async |pods: &BTreeMap<String, Option<String>>| {
        let kept = || async {
            let now = etcd.pod_uids().await;
            let kept = pods.iter().filter(|(name, uid)| now.get(*name) == Some(*uid)).count();
            if kept == 0 { Ok(()) } else { Err(format!("{kept} pods are the same")) }
        };
        ns.eventually("other pods", kept).await;
        etcd.runs(3).await;
        writer.writes(20).await;
    };
    let pods = etcd.pod_uids().await;
    write(&old, &both).await;
    replaced(&pods).await;
    let pods = etcd.pod_uids().await;
    write(&new, &both).await;
    for member in pods.keys() {
        let renewed = || async {
            let answer = put(&etcd, member, TLS_URL, true, "new").await;
            if answer.success { Ok(()) } else { Err(answer.stderr) }
        };
        ns.eventually("a member to serve with a certificate of the new authority", renewed).await;
    }
    assert_eq!(etcd.pod_uids().await, pods);
    write(&new, &new.pem).await;
    replaced(&pods).await;
    let after = etcd.runs(3).await;
    assert_eq!(ids(&after), ids(&before));
    writer.verdict(&after).await.never_refused_for(LONGEST_REFUSAL);
}
