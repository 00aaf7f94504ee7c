//! Certificates that the operator issues.

use k8s_openapi::api::core::v1::Secret;

use super::*;

/// A file of a Secret.
async fn file(etcd: &Etcd<'_>, secret: &str, file: &str) -> String {
    let secret: Secret = etcd.ns.get(&format!("{}-{secret}", etcd.name)).await;
    let text = secret.data.as_ref().and_then(|data| data.get(file)).map(|text| text.0.clone());
    String::from_utf8(text.unwrap_or_default()).expect("PEM")
}

/// One manifest, and all connections have TLS. Then the authorities are replaced under writes, and a Secret is lost.
#[tokio::test]
async fn a_cluster_with_issued_certificates_needs_nothing_else_and_replaces_its_authorities() {
    let ns = namespace("etcd-tls-issued").await;
    // Someone else's Secret is left alone.
    drop(ns.kubectl(&["create", "secret", "generic", "web-peer-tls", "--from-literal=other=1"]).await.ok());
    let etcd = Etcd::apply(&ns, "web", "{size: 3, TLS: {issued: {}}}").await;
    let message = etcd.says("Stalled", ConditionStatus::True, "TLSSecretInvalid").await;
    assert!(message.contains("the Secret web-peer-tls exists and does not belong to this EtcdCluster"), "{message}");
    assert!(etcd.pods().await.is_empty());
    drop(ns.kubectl(&["delete", "secret", "web-peer-tls"]).await.ok());
    let before = etcd.runs(3).await;
    let member = ids(&before).into_keys().next().expect("a member");
    assert!(put(&etcd, &member, TLS_URL, true, "ca").await.success);
    for url in [TLS_URL, PLAIN_URL] {
        assert!(!put(&etcd, &member, url, false, "ca").await.success, "{url}: served without a certificate");
    }
    let writer = Writer::with_issued_certificate(&etcd).await;
    volume(&ns, "store", "64Mi").await;
    let backup = Backup::apply(&ns, "once", "{clusterRef: {name: web}, pvc: {claimName: store}}").await;
    assert!(backup.has(1).await.backups[0].member.starts_with("https://web-"));

    let (pods, old) = (etcd.pod_uids().await, file(&etcd, "client-ca", "tls.crt").await);
    let key = file(&etcd, "server-tls", "tls.key").await;
    let requests = async |value: &str| {
        let annotation = format!("example.com/rotate-authorities={value}");
        drop(ns.kubectl(&["annotate", "--overwrite", "etcd", "web", &annotation]).await.ok());
    };
    requests("first").await;
    let restarted = || async {
        let now = etcd.pod_uids().await;
        let same = pods.iter().filter(|(name, uid)| now.get(*name) == Some(*uid)).count();
        if same == 0 { Ok(()) } else { Err(format!("{same} members have yet to restart")) }
    };
    ns.eventually("all members to restart with both authorities", restarted).await;
    etcd.runs(3).await;
    for secret in ["peer-tls", "server-tls", "client-tls"] {
        assert_eq!(file(&etcd, secret, "ca.crt").await.matches("BEGIN").count(), 2, "{secret}");
    }
    // Applications have a day to read theirs, unless a user says that they have.
    let restarted = etcd.pod_uids().await;
    assert_eq!(file(&etcd, "client-ca", "tls.crt").await, old);
    writer.knows_authorities(2).await;
    requests("second").await;
    let signs = || async {
        let (now, server) = (file(&etcd, "client-ca", "tls.crt").await, file(&etcd, "server-tls", "tls.key").await);
        if now != old && server != key { Ok(()) } else { Err("the old authority signs".to_owned()) }
    };
    ns.eventually("the new authority to sign", signs).await;
    let after = etcd.runs(3).await;
    assert_eq!(etcd.pod_uids().await, restarted, "that restarts nothing");
    writer.writes(20).await;
    writer.verdict(&after).await.never_refused_for(LONGEST_REFUSAL);
    assert_eq!(ids(&after), ids(&before));

    // A certificate that is lost is issued again, and restarts nothing.
    drop(ns.kubectl(&["delete", "secret", "web-server-tls"]).await.ok());
    let issued = || async {
        let found = ns.api::<Secret>().get_opt("web-server-tls").await.expect("Secrets can be read");
        found.map(drop).ok_or_else(|| "it does not exist".to_owned())
    };
    ns.eventually("the Secret to be issued again", issued).await;
    etcd.lose_pods(&[&member]).await;
    let again = etcd.runs(3).await;
    writer.verdict(&again).await.never_refused_for(LONGEST_REFUSAL);
    assert_eq!(etcd.pod_uids().await.values().filter(|uid| restarted.values().any(|of| of == *uid)).count(), 2);

    let manifest = |spec: &str| e2e::etcd::manifest("web", &format!("{{size: 3, TLS: {spec}}}"));
    for (spec, says) in [
        ("{issued: {}, static: {member: {peerSecret: p}}}", "TLS.static and TLS.issued exclude each other"),
        ("{static: {member: {peerSecret: p}}}", "TLS between members cannot change between TLS.static and TLS.issued"),
        ("{issued: {members: false, clients: false}}", "TLS.issued is of no use"),
    ] {
        let refused = ns.kubectl_with(&manifest(spec), &["apply", "--dry-run=server", "--filename=-"]).await.refused();
        assert!(refused.contains(says), "{spec}: {refused}");
    }
    drop(ns.kubectl(&["delete", "etcd", "web"]).await.ok());
    for secret in
        ["web-peer-ca", "web-client-ca", "web-peer-tls", "web-server-tls", "web-operator-tls", "web-client-tls"]
    {
        ns.until_deleted::<Secret>(secret).await;
    }
}
