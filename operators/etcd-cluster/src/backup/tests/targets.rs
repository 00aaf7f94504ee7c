//! What is backed up, and where to.

use super::*;

#[test]
fn endpoints_replace_a_cluster() {
    let spec = json!({ "clusterRef": null, "etcdEndpoints": ["http://e:2379"], "version": "v3.5.1",
        "pvc": { "claimName": "store", "path": "etcd/x" }, "backupPolicy": { "maxBackups": 3, "maxAgeInSecond": 60, "timeoutInSecond": 60 } });
    let mut of = observed(&spec);
    of.cluster = Referenced::Nothing;
    of.step(at(1));
    let planned = of.step(at(1));
    let work = &created_job(&planned)["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(work["image"], "quay.io/coreos/etcd:v3.5.1");
    let command = work["command"].to_string();
    for flag in ["--endpoint=http://e:2379", "--to=/backups/etcd/x/b", "--keep=3", "--keep-for=60", "--timeout=60"] {
        assert!(command.contains(flag), "{flag} is not in {command}");
    }
}

#[test]
fn a_single_backup_is_the_object_of_the_path_and_the_others_are_versions_of_it() {
    let s3 = json!({ "path": "b/etcd", "awsSecret": "aws", "endpoint": "http://s:9000", "forcePathStyle": true, "caSecret": "ca" });
    let mut of = observed(&json!({ "storageType": "S3", "pvc": null, "s3": s3 }));
    let job = |of: &mut BackupObserved, now| {
        of.step(now);
        let planned = of.step(now);
        created_job(&planned)["spec"]["template"]["spec"].clone()
    };
    let pod = job(&mut of, at(1));
    let work = &pod["containers"][0];
    let command = work["command"].to_string();
    for flag in [
        "--to=/backups/b/b",
        "--bucket=b/etcd",
        "--bucket-endpoint=http://s:9000",
        "--bucket-path-style",
        "--bucket-credentials=/bucket/credentials",
        "--bucket-ca=/bucket/ca/ca.crt",
    ] {
        assert!(command.contains(flag), "{flag} is not in {command}");
    }
    assert!(!command.contains("--versioned"), "{command}");
    let mounted = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    let names = ["agent", "scratch", "backups", "bucket-credentials", "bucket-ca"];
    assert_eq!(
        (mounted(&pod["volumes"]), mounted(&work["volumeMounts"])),
        (names.map(str::to_owned).into(), names.map(str::to_owned).into())
    );
    assert_eq!(pod["volumes"][1]["emptyDir"], json!({}));
    assert!(
        pod["initContainers"][0]["volumeMounts"].as_array().unwrap().len() == 1,
        "only the container that needs them has the Secrets"
    );

    of.jobs.clear();
    of.edit().status.running = None;
    of.succeed(at(2));
    of.edit().annotations.insert(api::etcd_backup::BACKUP_NOW, "one".into());
    let again = job(&mut of, at(3))["containers"][0]["command"].to_string();
    assert!(again.contains("\"--bucket=b/etcd\"") && again.contains("--versioned"), "{again}");
}

#[test]
fn each_store_has_its_api_its_secret_and_no_flag_of_another() {
    for (of, secret, flags) in [
        (
            json!({ "abs": { "path": "b/etcd", "absSecret": "az", "endpoint": "http://a:1/x" } }),
            Some("az"),
            "abs --bucket-endpoint=http://a:1/x",
        ),
        (json!({ "gcs": { "path": "b/etcd", "gcpSecret": "key" } }), Some("key"), "gcs"),
        (json!({ "gcs": { "path": "b/etcd" } }), None, "gcs"),
        (json!({ "oss": { "path": "b/etcd", "ossSecret": "ali" } }), Some("ali"), "oss"),
    ] {
        let mut spec = json!({ "pvc": null });
        spec["storageType"] = json!(of.as_object().unwrap().keys().next().unwrap().to_uppercase());
        spec.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        let mut observed = observed(&spec);
        observed.step(at(1));
        let planned = observed.step(at(1));
        let pod = &created_job(&planned)["spec"]["template"]["spec"];
        let command: Vec<&str> =
            pod["containers"][0]["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let bucket: Vec<&str> = command.into_iter().filter(|word| word.starts_with("--bucket")).collect();
        let credentials = if secret.is_some() { " --bucket-credentials=/bucket/credentials" } else { "" };
        assert_eq!(bucket.join(" "), format!("--bucket=b/etcd --bucket-api={flags}{credentials}"), "{spec}");
        let volume = pod["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "bucket-credentials");
        assert_eq!(volume.map(|volume| volume["secret"]["secretName"].as_str().unwrap()), secret, "{spec}");
    }
}

/// The Secret that a volume of the backup's pod has, and the command.
fn with_secret(volume: &str, more: &Value, cluster: Option<&Value>) -> (Option<String>, String) {
    let mut of = observed(more);
    of.cluster = cluster.map_or(Referenced::Nothing, |spec| {
        let object = json!({
            "metadata": { "namespace": "n", "name": "c", "uid": "u-c" },
            "spec": spec,
            "status": { "members": { "ready": ["c-1"] } },
        });
        Referenced::Found(Arc::new(EtcdCluster::decode(&object.to_string()).unwrap()))
    });
    of.step(at(1));
    let planned = of.step(at(1));
    let pod = &created_job(&planned)["spec"]["template"]["spec"];
    let volumes = pod["volumes"].as_array().unwrap();
    let secret = volumes.iter().find(|of| of["name"] == volume);
    let secret = secret.map(|volume| volume["secret"]["secretName"].as_str().unwrap().to_owned());
    (secret, pod["containers"][0]["command"].to_string())
}

/// The client certificate that a backup is taken with.
fn with_certificate(more: &Value, cluster: Option<&Value>) -> (Option<String>, String) {
    with_secret("etcd-client-tls", more, cluster)
}

#[test]
fn members_that_require_users_are_reached_as_root() {
    let cluster = json!({ "size": 1, "authentication": { "rootSecret": "web-root" } });
    let (secret, command) = with_secret("root", &json!({}), Some(&cluster));
    assert!(secret.as_deref() == Some("web-root") && command.contains("--root-secret=/etc/etcd-root"), "{command}");
    let (secret, command) = with_secret("root", &json!({}), Some(&json!({ "size": 1 })));
    assert!(secret.is_none() && !command.contains("--root-secret"), "{command}");
}

#[test]
fn members_with_tls_are_reached_with_the_operators_certificate_or_with_that_of_the_backup() {
    let secrets = json!({ "member": { "serverSecret": "server" }, "operatorSecret": "client" });
    let cluster = json!({ "size": 1, "TLS": { "static": secrets } });
    let (secret, command) = with_certificate(&json!({}), Some(&cluster));
    assert_eq!(secret.as_deref(), Some("client"));
    for flag in ["--endpoint=https://c-1.c.n.svc:2379", "--client-tls=/etc/etcdtls/operator/etcd-tls"] {
        assert!(command.contains(flag), "{flag} is not in {command}");
    }
    let own = json!({ "clientTLSSecret": "own" });
    assert_eq!(with_certificate(&own, Some(&cluster)).0.as_deref(), Some("own"));
    let urls = json!({ "clusterRef": null, "etcdEndpoints": ["https://e:2379"], "clientTLSSecret": "own" });
    let (secret, command) = with_certificate(&urls, None);
    assert!(secret.as_deref() == Some("own") && command.contains("--endpoint=https://e:2379"), "{secret:?} {command}");
    let (secret, command) = with_certificate(&json!({}), Some(&json!({ "size": 1 })));
    assert!(secret.is_none() && !command.contains("--client-tls"), "{secret:?} {command}");
}
