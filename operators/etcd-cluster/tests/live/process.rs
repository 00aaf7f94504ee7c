//! A member's process.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio, id};
use std::sync::atomic::{AtomicU8, Ordering};

use etcd_client::Client;
use etcd_cluster::etcd::MemberEndpoint;

/// The etcd of the tree. Debian's versions come with the loader and the libraries that they were linked against.
fn etcd() -> Command {
    let tree =
        std::env::var_os("ETCD_TREE").expect("ETCD_TREE must name etcd's file tree (scripts/test --all servers)");
    let tree = PathBuf::from(tree);
    let (binary, libraries) = (tree.join("usr/local/bin/etcd"), tree.join("lib/x86_64-linux-gnu"));
    let loader = libraries.join("ld-linux-x86-64.so.2");
    if !loader.exists() {
        return Command::new(binary);
    }
    let mut command = Command::new(loader);
    command.arg("--library-path").arg(libraries).arg(binary);
    command
}

/// A member, with a loopback address of its own. Killed when dropped.
pub struct Process {
    pub name: &'static str,
    pub host: String,
    pub data: PathBuf,
    pub cluster: String,
    pub state: &'static str,
    pub child: Option<Child>,
}

impl Process {
    pub fn new(name: &'static str) -> Self {
        static HOSTS: AtomicU8 = AtomicU8::new(1);
        let host = format!("127.{}.{}.{}", 1 + (id() >> 8) % 250, id() % 256, HOSTS.fetch_add(1, Ordering::Relaxed));
        let data = std::env::temp_dir().join(format!("etcd-live-{host}"));
        let cluster = format!("{name}=http://{host}:2380");
        Self { name, host, data, cluster, state: "new", child: None }
    }

    /// Members of one new cluster, all started.
    pub fn cluster(names: [&'static str; 3]) -> [Self; 3] {
        let mut all = names.map(Self::new);
        let cluster = all.each_ref().map(|one| one.cluster.clone()).join(",");
        for one in &mut all {
            one.cluster.clone_from(&cluster);
            one.start();
        }
        all
    }

    pub fn single(name: &'static str) -> Self {
        let mut one = Self::new(name);
        one.start();
        one
    }

    pub fn start(&mut self) {
        let (client, peer) = (format!("http://{}:2379", self.host), self.peer_url());
        let child = etcd()
            .args(["--name", self.name, "--data-dir"])
            .arg(&self.data)
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &self.cluster, "--initial-cluster-state", self.state])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.expect("etcd can be started"));
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops the process, with its connections open.
    pub fn freeze(&self) {
        let id = self.child.as_ref().expect("a started member").id().to_string();
        assert!(Command::new("kill").args(["-STOP", &id]).status().is_ok_and(|status| status.success()));
    }

    pub fn peer_url(&self) -> String {
        format!("http://{}:2380", self.host)
    }

    pub fn endpoint(&self) -> MemberEndpoint {
        MemberEndpoint::plain(self.name, &self.host)
    }

    pub async fn client(&self) -> Client {
        Client::connect([format!("http://{}:2379", self.host)], None).await.expect("a client")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.data);
    }
}
