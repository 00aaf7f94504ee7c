//! A real S3 server in a test's namespace: versitygw over a directory, once with TLS and once without.

use api::etcd_backup::EtcdBackupEntry;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::namespace::Namespace;

/// The image that scripts/images builds.
const IMAGE: &str = "docker.io/versity/versitygw:v1.8.0";
/// The bucket that exists. The name of its host is that of the pod, so that requests with the bucket in the host reach it.
pub const BUCKET: &str = "backups";
/// The Secret with the credentials.
pub const CREDENTIALS: &str = "aws";
/// The Secret with the certificate.
pub const CERTIFICATE: &str = "store-ca";

/// The server.
pub struct Server<'a> {
    ns: &'a Namespace,
}

impl<'a> Server<'a> {
    /// Starts it, with the bucket and the Secrets.
    pub async fn start(ns: &'a Namespace) -> Self {
        let server = Self { ns };
        let host = server.host();
        let names = [host.clone(), format!("{BUCKET}.{host}")];
        let certificate = rcgen::generate_simple_self_signed(names).expect("a certificate can be created");
        let (cert, key) = (certificate.cert.pem(), certificate.signing_key.serialize_pem());
        create_secret(ns, "store-tls", &[("tls.crt", &cert), ("tls.key", &key)]).await;
        create_secret(ns, CERTIFICATE, &[("ca.crt", &cert)]).await;
        server.credentials(CREDENTIALS, "right").await;
        ns.apply(&manifest(&host)).await;
        ns.until::<Pod, ()>(BUCKET, "the S3 server to be ready", |pod| {
            let conditions = pod?.status.as_ref()?.conditions.as_ref()?;
            conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True").then_some(())
        })
        .await;
        server
    }

    fn host(&self) -> String {
        format!("store.{}.svc", self.ns.name)
    }

    /// Its URL without TLS.
    #[must_use]
    pub fn plain(&self) -> String {
        format!("http://{}:7070", self.host())
    }

    /// Its URL with TLS.
    #[must_use]
    pub fn with_tls(&self) -> String {
        format!("https://{}:7071", self.host())
    }

    /// Creates a Secret as AWS's tools write their files.
    pub async fn credentials(&self, name: &str, secret: &str) {
        self.credentials_in(self.ns, name, secret).await;
    }

    /// The same in another namespace.
    pub async fn credentials_in(&self, ns: &Namespace, name: &str, secret: &str) {
        let file = format!("[default]\naws_access_key_id = tester\naws_secret_access_key = {secret}\n");
        let config = "[default]\nregion = us-east-1\n";
        create_secret(ns, name, &[("credentials", &file), ("config", config)]).await;
    }

    /// Creates a Secret for the fields of OSS.
    pub async fn oss_credentials(&self, name: &str) {
        create_secret(self.ns, name, &[("accessKeyID", "tester"), ("accessKeySecret", "right")]).await;
    }

    /// Runs a script where the objects are: the bucket is a directory, in /data.
    pub async fn shell(&self, script: &str) -> String {
        self.ns.kubectl(&["exec", BUCKET, "-c", "shell", "--", "sh", "-euxc", script]).await.ok()
    }

    /// Takes its address away, or gives it back.
    pub async fn reachable(&self, reachable: bool) {
        let label = if reachable { "app=store" } else { "app=away" };
        drop(self.ns.kubectl(&["label", "pod", BUCKET, label, "--overwrite"]).await.ok());
    }

    /// Checks that a backup is in the bucket as the status says.
    pub async fn has(&self, backup: &EtcdBackupEntry) {
        let file = format!("/data/{}", backup.path.as_deref().expect("a backup in a bucket has a path"));
        let script = format!("echo '{}  {file}' | sha256sum -c; test -s {file}.json", backup.sha256);
        self.shell(&script).await;
    }
}

async fn create_secret(ns: &Namespace, name: &str, data: &[(&str, &str)]) {
    let data: serde_json::Map<String, serde_json::Value> =
        data.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data });
    ns.apply(&secret.to_string()).await;
}

fn manifest(host: &str) -> String {
    let security = "{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}";
    let gateway = |name: &str, port: u16, more: &str| {
        format!(
            "
  - name: {name}
    image: {IMAGE}
    args: [--port, ':{port}', --virtual-domain, '{host}', {more} posix, --sidecar, /data/.metadata, /data/buckets]
    env: [{{name: ROOT_ACCESS_KEY, value: tester}}, {{name: ROOT_SECRET_KEY, value: right}}]
    readinessProbe: {{tcpSocket: {{port: {port}}}, periodSeconds: 1}}
    securityContext: {security}
    volumeMounts: [{{name: data, mountPath: /data}}, {{name: tls, mountPath: /tls}}]"
        )
    };
    let (plain, tls) = (gateway("plain", 7070, ""), gateway("tls", 7071, "--cert, /tls/tls.crt, --key, /tls/tls.key,"));
    let prepare = format!("mkdir -p /data/.metadata /data/buckets/{BUCKET}");
    format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: store}}
spec:
  clusterIP: None
  selector: {{app: store}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {BUCKET}, labels: {{app: store}}}}
spec:
  hostname: {BUCKET}
  subdomain: store
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {{runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: {{type: RuntimeDefault}}}}
  initContainers:
  - name: prepare
    image: nginx:1.25
    command: [sh, -euxc, {prepare:?}]
    securityContext: {security}
    volumeMounts: [{{name: data, mountPath: /data}}]
  containers:{plain}{tls}
  - name: shell
    image: nginx:1.25
    command: [sleep, infinity]
    securityContext: {security}
    volumeMounts: [{{name: data, mountPath: /data, subPath: buckets}}]
  volumes:
  - name: data
    emptyDir: {{}}
  - name: tls
    secret: {{secretName: store-tls}}
"
    )
}
