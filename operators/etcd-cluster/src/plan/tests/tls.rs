//! TLS by the Secrets of `spec.TLS`.

use api::etcd_cluster::EtcdClusterReason;

use super::*;

fn spec() -> Value {
    json!({
        "size": 3,
        "TLS": { "static": { "member": { "peerSecret": "peer", "serverSecret": "server" }, "operatorSecret": "client" } },
    })
}

/// A pod that the plan creates for a cluster of which nothing exists.
fn first_pod(spec: &Value) -> Value {
    let seen = Observed {
        tls: ObservedTls { authorities: Some("a1".to_owned()), ..ObservedTls::default() },
        ..observed(spec, &decided())
    };
    let members = MemberSet::of(&seen, Timestamp::UNIX_EPOCH);
    let desired = desired::Desired::of(&seen, &members, true);
    objects::pod(&seen, &seen.cluster, &desired, "c-x", InitialState::New).body
}

fn flag<'a>(pod: &'a Value, name: &str) -> Option<&'a str> {
    let command = pod["spec"]["containers"][0]["command"].as_array().unwrap().iter().filter_map(Value::as_str);
    let mut command = command.skip_while(|word| *word != name && !word.starts_with(&format!("{name}=")));
    let word = command.next()?;
    word.split_once('=').map(|(_, value)| value).or_else(|| command.next())
}

#[test]
fn members_get_the_certificates_and_listen_with_tls() {
    let pod = first_pod(&spec());
    assert_eq!(flag(&pod, "--listen-peer-urls"), Some("https://0.0.0.0:2380"));
    assert_eq!(flag(&pod, "--listen-client-urls"), Some("https://0.0.0.0:2379"));
    assert_eq!(flag(&pod, "--advertise-client-urls"), Some("https://c-x.c.n.svc:2379"));
    assert_eq!(flag(&pod, "--initial-advertise-peer-urls"), Some("https://c-x.c.n.svc:2380"));
    assert_eq!(flag(&pod, "--peer-tls"), Some("/etc/etcdtls/member/peer-tls"));
    assert_eq!(flag(&pod, "--server-tls"), Some("/etc/etcdtls/member/server-tls"));
    let secrets: Vec<_> =
        pod["spec"]["volumes"].as_array().unwrap().iter().filter_map(|v| v["secret"]["secretName"].as_str()).collect();
    assert_eq!(secrets, ["peer", "server"], "no member has the operator's key");
    let annotations = &pod["metadata"]["annotations"];
    assert_eq!(annotations[objects::PEER_SECRET], "peer");
    assert_eq!(annotations[objects::CLIENT_TLS], "client");
    assert_eq!(annotations[objects::AUTHORITIES], "a1");
}

#[test]
fn plaintext_is_served_as_well_on_request_and_without_tls_nothing_changes() {
    let mut both = spec();
    both["TLS"]["allowPlaintext"] = json!(true);
    assert_eq!(flag(&first_pod(&both), "--listen-client-urls"), Some("https://0.0.0.0:2379,http://0.0.0.0:2379"));
    for none in [json!({ "size": 3 }), json!({ "size": 3, "TLS": { "allowPlaintext": true } })] {
        let pod = first_pod(&none);
        assert_eq!(flag(&pod, "--listen-client-urls"), Some("http://0.0.0.0:2379"));
        assert_eq!((flag(&pod, "--peer-tls"), flag(&pod, "--server-tls")), (None, None));
        assert_eq!(pod["metadata"]["annotations"][objects::AUTHORITIES], Value::Null);
    }
    let templates = [json!({ "size": 3 }), spec(), both]
        .map(|spec| first_pod(&spec)["metadata"]["annotations"][objects::TEMPLATE].clone());
    assert!(templates[0] != templates[1] && templates[1] != templates[2], "{templates:?}");
}

#[test]
fn nothing_is_created_with_secrets_that_cannot_be_used() {
    let unusable = Some((EtcdClusterReason::TLSSecretInvalid, "the Secret peer does not exist".to_owned()));
    let seen = Observed { tls: ObservedTls { unusable, ..ObservedTls::default() }, ..observed(&spec(), &decided()) };
    let plan = plan(&seen, Timestamp::UNIX_EPOCH);
    assert!(plan.effects.is_empty() && plan.independent.is_empty(), "{:?}", plan.effects);
    let status = plan.status.unwrap();
    assert_eq!(reason(&status, "Stalled"), (ConditionStatus::True, "TLSSecretInvalid".to_owned()));
}

fn claim_of(name: &str, uid: &str, secret: Option<&str>) -> Arc<Pvc> {
    let claim = json!({ "metadata": {
        "namespace": "n", "name": name, "uid": name,
        "labels": { objects::OWNER_UID: uid },
        "annotations": secret.map_or_else(|| json!({}), |secret| json!({ objects::PEER_SECRET: secret })),
    } });
    Arc::new(Pvc::decode(&claim.to_string()).unwrap())
}

/// The Secret for peers in effect, and the reason of the refusal.
fn effective(spec: &Value, claims: &[Arc<Pvc>]) -> (Option<String>, Option<EtcdClusterReason>) {
    let seen = observed(spec, &decided());
    let cluster = crate::plan::issued_tls::effective(&seen.cluster);
    let (cluster, refusal) = effective_tls::effective(&cluster, &[], claims);
    let secret = crate::plan::tls::peer_secret(&cluster).map(str::to_owned);
    (secret, refusal.map(|(reason, _)| reason))
}

#[test]
fn tls_between_members_is_decided_at_creation() {
    let plain = json!({ "size": 3 });
    let refused = Some(EtcdClusterReason::TLSChangeRefused);
    assert_eq!(effective(&spec(), &[]), (Some("peer".to_owned()), None));
    assert_eq!(effective(&spec(), &[claim_of("c-1", "u", Some("before"))]), (Some("peer".to_owned()), None), "renamed");
    assert_eq!(effective(&spec(), &[claim_of("c-1", "u", None)]), (None, refused));
    assert_eq!(effective(&plain, &[claim_of("c-1", "u", Some("before"))]), (Some("before".to_owned()), refused));
    assert_eq!(effective(&plain, &[claim_of("c-1", "u", None)]), (None, None));
    assert_eq!(effective(&spec(), &[claim_of("c-1", "other", None)]), (Some("peer".to_owned()), None), "of another");
    // Certificates that the operator issues do not expire while the spec is wrong.
    let kept = crate::plan::effective_tls::effective(
        &observed(&plain, &decided()).cluster,
        &[],
        &[claim_of("c-1", "u", Some("c-peer-tls"))],
    );
    let issued =
        kept.0.spec.tls.as_ref().and_then(|tls| tls.issued.clone()).map(|issued| (issued.members, issued.clients));
    assert_eq!(issued, Some((true, false)));
    let message = kept.1.unwrap().1;
    assert!(message.contains("the certificates of the members any more (issued.members)"), "{message}");
    // Neither at once nor in two steps do members change to certificates that the others reject.
    let issued = json!({ "size": 3, "TLS": { "issued": {} } });
    let (changed, own) = (Some(EtcdClusterReason::TLSChangeRefused), || Some("c-peer-tls".to_owned()));
    assert_eq!(effective(&issued, &[claim_of("c-1", "u", Some("peer"))]), (Some("peer".to_owned()), changed));
    assert_eq!(effective(&spec(), &[claim_of("c-1", "u", own().as_deref())]), (own(), changed));
    assert_eq!(effective(&issued, &[claim_of("c-1", "u", own().as_deref())]), (own(), None));
    let names = objects::claim(&observed(&spec(), &decided()).cluster, "c-1", objects::ClaimInputs::default());
    assert_eq!(names.body["metadata"]["annotations"][objects::PEER_SECRET], "peer");
}

#[test]
fn other_authorities_need_new_pods_and_unknown_ones_do_not() {
    let template = |authorities: Option<&str>, pods: Vec<Arc<Pod>>| {
        let tls = ObservedTls { authorities: authorities.map(str::to_owned), ..ObservedTls::default() };
        let seen = Observed { tls, pods, ..observed(&spec(), &decided()) };
        desired::Desired::of(&seen, &MemberSet::of(&seen, Timestamp::UNIX_EPOCH), true).template
    };
    let pod = json!({ "metadata": {
        "namespace": "n", "name": "c-x", "uid": "p", "annotations": { objects::AUTHORITIES: "a1" },
        "ownerReferences": [{ "apiVersion": "v1", "kind": "x", "name": "c", "uid": "u", "controller": true }],
    } });
    let pod = Arc::new(Pod::with_details(&pod.to_string()).unwrap());
    assert_ne!(template(Some("a1"), Vec::new()), template(Some("a2"), Vec::new()));
    assert_eq!(template(None, vec![pod]), template(Some("a1"), Vec::new()));
}

#[test]
fn a_certificate_that_expires_soon_is_a_warning_until_it_is_renewed() {
    let warning = |now: &str, unusable: bool| {
        let times = ["2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", now].map(|time| time.parse().unwrap());
        let renewal = crate::plan::CertificateRenewal::of("tls.crt".to_owned(), times[0], times[1], times[2]);
        let unusable = unusable.then(|| (EtcdClusterReason::TLSSecretInvalid, String::new()));
        let tls = ObservedTls { renewal: Some(renewal), unusable, ..ObservedTls::default() };
        let status = plan(&Observed { tls, ..observed(&spec(), &decided()) }, Timestamp::UNIX_EPOCH).status.unwrap();
        status.contract.condition("Warning").map(|warning| (warning.reason.clone(), warning.message.clone()))
    };
    assert_eq!(warning("2026-01-27T00:00:00Z", false), None);
    let (reason, message) = warning("2026-01-29T00:00:00Z", false).unwrap();
    assert_eq!(reason.to_string(), "CertificateExpiring");
    assert!(message.starts_with("tls.crt expires at 2026-01-31T00:00:00Z: renew it"), "{message}");
    assert_eq!(warning("2026-02-01T00:00:00Z", true), None, "Stalled says so");
}

#[test]
fn a_cluster_that_rejects_only_the_operator_has_not_lost_quorum() {
    let conditions = |ready: bool| {
        let mut seen = super::members::three(&spec());
        seen.tls.unusable = Some((EtcdClusterReason::TLSSecretInvalid, "tls.crt has expired".to_owned()));
        seen.etcd.members = Err("0 of 3 members answer".to_owned());
        seen.etcd.endpoints.values_mut().for_each(|answer| *answer = Err("certificate expired".to_owned()));
        for pod in &mut seen.pods {
            let details = Arc::get_mut(pod).unwrap().details.as_mut().unwrap();
            details.annotations.insert(objects::CLIENT_TLS.to_owned(), "client".to_owned());
            details.ready = ready;
        }
        let status = plan(&seen, Timestamp::from_second(600).unwrap()).status.unwrap();
        (reason(&status, "QuorumHealthy"), reason(&status, "Stalled"), status.phase)
    };
    let stalled = (ConditionStatus::True, "TLSSecretInvalid".to_owned());
    let unknown = (ConditionStatus::Unknown, "TLSSecretInvalid".to_owned());
    assert_eq!(conditions(true), (unknown, stalled, Some(EtcdClusterPhase::Running)));
    assert_eq!(conditions(false).0.0, ConditionStatus::False, "the kubelet reports that none serves");
}

#[test]
fn certificates_are_issued_when_due_and_by_a_successor_once_all_members_know_it() {
    use crate::plan::{DueIssuance, MembersKnow};
    let issued = json!({ "size": 3, "TLS": { "issued": { "clients": false } } });
    let issues = |due: DueIssuance, unaware: Option<&str>| {
        let mut seen = super::members::three(&issued);
        seen.tls.issuance = due;
        seen.tls.authorities = Some("both".to_owned());
        for pod in &mut seen.pods {
            let knows = if unaware == Some(&*pod.meta.key.name) { "old" } else { "both" };
            let details = Arc::get_mut(pod).unwrap().details.as_mut().unwrap();
            details.annotations.insert(objects::AUTHORITIES.to_owned(), knows.to_owned());
        }
        let of = |effect: &Effect<EtcdAct>| match effect {
            Effect::Act(EtcdAct::IssueCertificates { members, .. }) => Some(members.clone()),
            _ => None,
        };
        plan(&seen, Timestamp::from_second(600).unwrap()).effects.iter().find_map(of)
    };
    let (nothing, now) = (DueIssuance::default(), DueIssuance { now: true, once_rolled: false });
    let successor = DueIssuance { now: false, once_rolled: true };
    let same = || Some(MembersKnow::Same("both".to_owned()));
    assert_eq!((issues(nothing, None), issues(now, None), issues(successor, None)), (None, same(), same()));
    assert_eq!(issues(now, Some(super::members::NAMES[1])), Some(MembersKnow::Different));
    assert_eq!(issues(successor, Some(super::members::NAMES[1])), None);
    // Before the first member, whose pod needs the Secrets.
    let tls = ObservedTls { issuance: now, ..ObservedTls::default() };
    let plan = plan(&Observed { tls, ..observed(&issued, &decided()) }, Timestamp::UNIX_EPOCH);
    let [Effect::Act(EtcdAct::IssueCertificates { members, issued })] = &plan.effects[..] else {
        panic!("{:?}", plan.effects)
    };
    assert_eq!((members, issued.members, issued.clients), (&MembersKnow::None, true, false));
    let message = plan.status.unwrap().contract.condition("Reconciling").unwrap().message.clone();
    assert!(message.ends_with("issuing the certificates of the cluster (spec.TLS.issued)"), "{message}");
}
