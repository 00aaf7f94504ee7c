//! Clusters with TLS, whose Secrets are missing, are lost, and come back.

use std::collections::BTreeMap;

use etcd_cluster::observe::SecretFiles;
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};
use runtime::cache::Projection as _;
use runtime::projections::Pod;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::faults::Step;
use crate::stories::settle;

/// The Secrets of the cluster `c`, by name, as cert-manager writes them.
fn secrets() -> BTreeMap<String, SecretFiles> {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("a certificate").pem();
    let issuer = Issuer::new(params, key);
    let secret = |name: &str| {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec!["*.c.n.svc".to_owned()]).expect("a name");
        (params.not_before, params.not_after) = (date_time_ymd(1970, 1, 1), date_time_ymd(2000, 1, 1));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
        let files = [("tls.crt", certificate), ("tls.key", key.serialize_pem()), ("ca.crt", authority.clone())];
        (
            name.to_owned(),
            SecretFiles { files: files.map(|(file, text)| (file.to_owned(), text)).into(), controller: None },
        )
    };
    ["peer", "server", "client"].map(secret).into()
}

fn spec() -> Value {
    let members = json!({ "peerSecret": "peer", "serverSecret": "server" });
    json!({ "size": 3, "storage": { "size": "1Gi" }, "TLS": { "static": { "member": members, "operatorSecret": "client" } } })
}

fn settled() -> Bench {
    let mut bench = Bench::new(&spec());
    bench.secrets = secrets();
    settle(&mut bench);
    bench
}

fn pods(bench: &Bench) -> Vec<Value> {
    bench.world.all(Pod::KIND).map(|(_, pod)| pod["metadata"]["uid"].clone()).collect()
}

/// Whether all members listen with TLS, by their pods.
fn all_listen_with_tls(bench: &Bench) -> bool {
    let listens = |pod: &Value| {
        let command = pod["spec"]["containers"][0]["command"].to_string();
        command.contains("--listen-peer-urls=https://") && command.contains("--listen-client-urls=https://")
    };
    bench.world.all(Pod::KIND).all(|(_, pod)| listens(pod))
}

/// Why it is stalled.
fn stalled(bench: &Bench) -> String {
    let conditions = bench.status()["conditions"].as_array().cloned().unwrap_or_default();
    let of = conditions.iter().find(|condition| condition["type"] == "Stalled" && condition["status"] == "True");
    of.map_or_else(String::new, |condition| format!("{}: {}", condition["reason"], condition["message"]))
}

#[test]
fn nothing_is_created_before_all_secrets_are_there() {
    let mut bench = Bench::new(&spec());
    bench.take(&Step::Calm(10));
    assert!(stalled(&bench).contains("TLSSecretInvalid"), "{}", bench.story());
    bench.secrets = secrets();
    bench.secrets.remove("client");
    bench.take(&Step::Calm(10));
    assert!(stalled(&bench).contains("the Secret client of spec.TLS does not exist"), "{}", bench.story());
    assert!(pods(&bench).is_empty(), "{}", bench.story());
    bench.secrets = secrets();
    settle(&mut bench);
    assert!(all_listen_with_tls(&bench) && bench.members().len() == 3, "{}", bench.story());
}

#[test]
fn no_member_loses_its_pod_for_a_spec_that_is_refused_or_secrets_that_are_lost() {
    let mut bench = settled();
    let (secrets, before) = (bench.secrets.clone(), pods(&bench));
    bench.edit(|object| object["spec"]["TLS"]["static"]["member"]["peerSecret"] = Value::Null);
    bench.take(&Step::Calm(30));
    assert!(stalled(&bench).contains("TLSChangeRefused"), "{}", bench.story());
    assert_eq!(pods(&bench), before, "{}", bench.story());

    // A member that loses its pod meanwhile returns as it was.
    let member = bench.members().remove(0);
    bench.world.delete(Pod::KIND, &bench.key.sibling(&member));
    bench.take(&Step::Calm(60));
    assert!(all_listen_with_tls(&bench) && bench.is("QuorumHealthy"), "{}", bench.story());
    bench.edit(|object| object["spec"] = spec());
    settle(&mut bench);

    let before = pods(&bench);
    bench.secrets.remove("server");
    bench.edit(|object| object["spec"]["options"] = json!({ "snapshot-count": "5000" }));
    bench.take(&Step::Calm(30));
    assert!(stalled(&bench).contains("the Secret server of spec.TLS does not exist"), "{}", bench.story());
    assert_eq!(pods(&bench), before, "{}", bench.story());
    bench.secrets = secrets;
    settle(&mut bench);
    assert!(pods(&bench).iter().all(|pod| !before.contains(pod)), "the edit reaches all: {}", bench.story());
}

#[test]
fn other_authorities_restart_one_member_after_the_other_and_other_certificates_none() {
    let mut bench = settled();
    let before = pods(&bench);
    let renewed = secrets();
    let authority = bench.secrets["peer"].files["ca.crt"].clone();
    bench.secrets = renewed;
    settle(&mut bench);
    let after = pods(&bench);
    assert!(after.iter().all(|pod| !before.contains(pod)), "{}", bench.story());
    for secret in bench.secrets.values_mut() {
        let both = format!("{}{authority}", secret.files["ca.crt"]);
        secret.files.insert("ca.crt".to_owned(), both);
    }
    settle(&mut bench);
    let with_both = pods(&bench);
    assert!(with_both.iter().all(|pod| !after.contains(pod)), "{}", bench.story());
    settle(&mut bench);
    assert_eq!(pods(&bench), with_both, "{}", bench.story());
}
