//! The life of a bucket on real servers, each a process of its own: versitygw for S3, Azurite for Azure, fake-gcs-server for Google.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agent_protocol::{BucketArgs, StoreApi};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::Bucket;
use crate::failure::{CommandFailure, Reason};

const BUCKET: &str = "backups";
const TIMEOUT: Duration = Duration::from_secs(60);
/// Three parts, of which the last one is short.
const BYTES: usize = 12 * 1024 * 1024;

/// A server, and how it is reached.
struct Server {
    process: Child,
    directory: PathBuf,
    port: u16,
    api: StoreApi,
}

impl Server {
    fn start(api: StoreApi, command: impl FnOnce(u16, &Path) -> Command) -> Self {
        let directory = std::env::temp_dir().join(format!("agent-live-{api}-{}", std::process::id()));
        fs::create_dir_all(directory.join("data").join(BUCKET)).unwrap();
        fs::create_dir_all(directory.join("sidecar")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = fs::File::create(directory.join("log")).unwrap();
        let process =
            command(port, &directory).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn();
        let server = Self { process: process.expect("the server can be started"), directory, port, api };
        let deadline = Instant::now() + TIMEOUT;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "the server does not listen: {}", server.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The bucket, with these files as its credentials.
    fn open(&self, bucket: &str, endpoint: &str, credentials: &[(&str, &str)]) -> Bucket {
        let directory = self.directory.join("credentials");
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        for (name, text) in credentials {
            fs::write(directory.join(name), text).unwrap();
        }
        let args = BucketArgs {
            bucket: Some(format!("{bucket}/team/etcd")),
            bucket_api: self.api,
            bucket_endpoint: Some(endpoint.to_owned()),
            bucket_path_style: self.api == StoreApi::S3,
            bucket_credentials: Some(directory),
            bucket_ca: None,
        };
        Bucket::open(&args).expect("the arguments are right").expect("a bucket")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn program(variable: &str) -> PathBuf {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("{variable} names the server's program: run scripts/test"))
}

fn reason<T>(result: Result<T, CommandFailure>) -> Option<Reason> {
    result.err().map(|failure| failure.reason())
}

/// The objects that the tests begin with, and the file that two of them have.
fn objects() -> [(&'static str, Vec<u8>); 4] {
    let file: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    [
        ("team/etcd.json", b"{}".to_vec()),
        ("team/etcd_v2_b", file.clone()),
        ("team/etcd_v1_a", file),
        ("team/other/etcd_v3", b"x".to_vec()),
    ]
}

/// Writes them, the large ones in parts. Each says whose it is.
fn write(server: &Server, bucket: &Bucket) {
    let owner = |key: &str| bucket.owner(key).unwrap_or_else(|why| panic!("{}: {}", why.message(), server.log()));
    let file = server.directory.join("file");
    for (key, bytes) in objects() {
        assert_eq!((owner(key), bucket.text(key).unwrap(), bucket.digest(key, TIMEOUT).unwrap()), (None, None, None));
        let written = if bytes.len() < BYTES {
            bucket.write(key, String::from_utf8(bytes).unwrap(), "u-1")
        } else {
            fs::write(&file, &bytes).unwrap();
            bucket.upload(&file, key, "u-1", TIMEOUT)
        };
        written.unwrap_or_else(|why| panic!("{}: {}", why.message(), server.log()));
        assert_eq!(owner(key).as_deref(), Some("u-1"));
    }
}

/// Reads and lists them, and removes all.
fn read(server: &Server, bucket: &Bucket) {
    let (copy, [_, (_, bytes), ..]) = (server.directory.join("copy"), objects());
    assert!(bucket.owner("team/etcd.json").unwrap().is_some() && bucket.owner("team/none").unwrap().is_none());
    assert_eq!(bucket.text("team/etcd.json").unwrap().as_deref(), Some("{}"));
    assert!(bucket.download("team/etcd_v2_b", &copy, TIMEOUT).unwrap());
    assert_eq!(fs::read(&copy).unwrap(), bytes);
    let digest = crate::files::digest(&copy, false).unwrap();
    assert_eq!(bucket.digest("team/etcd_v1_a", TIMEOUT).unwrap(), Some(digest));
    assert!(!bucket.download("team/none", &copy, TIMEOUT).unwrap());

    assert_eq!(bucket.keys("team/etcd_v").unwrap(), ["team/etcd_v1_a", "team/etcd_v2_b"]);
    assert_eq!(bucket.children("team").unwrap(), ["team/etcd.json", "team/etcd_v1_a", "team/etcd_v2_b"]);
    assert_eq!(bucket.sizes("team/other").unwrap(), [("team/other/etcd_v3".to_owned(), 1)].into());
    let texts = bucket.texts(&["team/none".to_owned(), "team/etcd.json".to_owned()]).unwrap();
    assert_eq!(texts, [None, Some("{}".to_owned())]);
    for _ in 0..2 {
        bucket.remove("team/etcd_v1_a").unwrap_or_else(|why| panic!("{}: {}", why.message(), server.log()));
    }
    assert_eq!(bucket.keys("team/etcd_v").unwrap(), ["team/etcd_v2_b"]);
    bucket.remove_below("team").unwrap();
    assert_eq!(bucket.keys("team/").unwrap(), [""; 0]);
}

/// A bucket that does not exist is an error, by name, and not one that is empty.
fn missing(bucket: &Bucket, server: &Server) {
    let why = bucket.write("team/etcd", "x".to_owned(), "u-1").expect_err("there is no such bucket");
    assert_eq!(why.reason(), Reason::BadInput, "{}: {}", why.message(), server.log());
    assert!(why.message().contains("nothing/team/etcd cannot be written"), "{}", why.message());
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_bucket_with_the_api_of_s3() {
    let server = Server::start(StoreApi::S3, |port, directory| {
        let mut command = Command::new(program("VERSITYGW"));
        command.args(["--port", &format!("127.0.0.1:{port}"), "posix", "--sidecar"]);
        command.arg(directory.join("sidecar")).arg(directory.join("data"));
        command.env("ROOT_ACCESS_KEY", "tester").env("ROOT_SECRET_KEY", "right");
        command
    });
    let profile = |secret: &str| format!("[default]\naws_access_key_id = tester\naws_secret_access_key = {secret}\n");
    let open = |bucket: &str, secret: &str| server.open(bucket, &server.url(), &[("credentials", &profile(secret))]);
    write(&server, &open(BUCKET, "right"));
    read(&server, &open(BUCKET, "right"));
    missing(&open("nothing", "right"), &server);
    assert_eq!(reason(open(BUCKET, "wrong").keys("team/")), Some(Reason::AuthenticationFailed));
}

#[test]
#[ignore = "scripts/test --all servers"]
fn a_container_of_azure_blob_storage() {
    let key = STANDARD.encode("a key of an account");
    let server = Server::start(StoreApi::Abs, |port, directory| {
        let mut command = Command::new("node");
        command.arg(program("AZURITE")).args(["--silent", "--skipApiVersionCheck", "--disableTelemetry", "--location"]);
        command.arg(directory.join("sidecar")).args(["--blobHost", "127.0.0.1", "--blobPort", &port.to_string()]);
        command.env("AZURITE_ACCOUNTS", format!("account:{key}"));
        command
    });
    let endpoint = format!("{}/account", server.url());
    let date = "Mon, 30 Nov 2026 00:00:00 GMT";
    let signed = format!(
        "PUT{}x-ms-date:{date}\nx-ms-version:2021-08-06\n/account/account/{BUCKET}\nrestype:container",
        "\n".repeat(12)
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(&key).unwrap()).unwrap();
    mac.update(signed.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let request = ureq::put(format!("{endpoint}/{BUCKET}?restype=container"))
        .header("x-ms-date", date)
        .header("x-ms-version", "2021-08-06")
        .header("authorization", format!("SharedKey account:{signature}"));
    request.send_empty().unwrap_or_else(|error| panic!("{error}: {}", server.log()));

    let open = |container: &str, key: &str| {
        server.open(container, &endpoint, &[("storage-account", "account\n"), ("storage-key", key)])
    };
    write(&server, &open(BUCKET, &key));
    read(&server, &open(BUCKET, &key));
    missing(&open("nothing", &key), &server);
    let wrong = STANDARD.encode("another key");
    // Azure says AuthenticationFailed, and Azurite AuthorizationFailure.
    let refused = reason(open(BUCKET, &wrong).keys("team/"));
    assert!(matches!(refused, Some(Reason::AuthenticationFailed | Reason::PermissionDenied)), "{refused:?}");
}

/// fake-gcs-server takes no uploads by the API that the library uses (PUT of an object): it begins with the objects.
#[test]
#[ignore = "scripts/test --all servers"]
fn a_bucket_of_google_cloud_storage() {
    let server = Server::start(StoreApi::Gcs, |port, directory| {
        for (key, bytes) in objects() {
            let file = directory.join("data").join(BUCKET).join(key);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        let mut command = Command::new(program("FAKE_GCS_SERVER"));
        command.args(["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory", "-port", &port.to_string()]);
        command.args(["-public-host", &format!("127.0.0.1:{port}"), "-data"]).arg(directory.join("data"));
        command
    });
    read(&server, &server.open(BUCKET, &server.url(), &[("access-token", "any\n")]));
}
