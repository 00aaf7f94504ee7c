//! What is on volumes: PostgreSQL's data, and the files of snapshots.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers of the rows that applications have written.
pub type Rows = BTreeSet<u32>;

/// A data directory.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// PostgreSQL's system identifier.
    pub id: String,
    pub major: u32,
    /// The UID of the database that it was created for.
    pub owner: Option<String>,
    pub rows: Rows,
    /// Whether applications can connect.
    pub allows_clients: bool,
    /// Since when they cannot, if they are blocked for a copy.
    pub blocked_since: Option<i64>,
    /// The superuser's password.
    pub superuser: String,
    /// The application's password, once it has a role.
    pub app: Option<String>,
    /// How often the initial SQL has run; the record of that is part of the data.
    pub init_sql_runs: u32,
    /// What was set over a connection (ALTER SYSTEM).
    pub settings: BTreeMap<String, String>,
    /// The snapshot that it was restored from, by its checksum, and whether that was completed.
    pub restored: Option<(String, bool)>,
    /// If it is an unused copy: the system identifier of the source, and since when the source has blocked clients.
    pub copy: Option<(String, i64)>,
}

/// A snapshot's files.
#[derive(Clone, Debug)]
pub struct SnapshotFiles {
    pub sha: String,
    pub intact: bool,
    /// The release that wrote it.
    pub release: String,
    /// Whether it is a copy of the data directory (physical).
    pub physical: bool,
    /// What it does not contain.
    pub not_covered: Vec<&'static str>,
    /// The data that it contains.
    pub data: Data,
}

/// The contents of a volume for data or for snapshots.
#[derive(Clone, Debug, Default)]
pub struct VolumeContents {
    pub data: Option<Data>,
    /// By name; incomplete ones have no name yet.
    pub files: BTreeMap<String, SnapshotFiles>,
    /// The pod that holds the lock of the data.
    pub holder: Option<String>,
}

/// All volumes, by the UID of their PVC.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    pub volumes: BTreeMap<String, VolumeContents>,
    /// Snapshots in the object store, by path.
    pub store: BTreeMap<String, SnapshotFiles>,
    count: u32,
}

impl Disks {
    /// A number that was not used before.
    pub fn next_number(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// The volume of a PVC.
    pub fn volume(&mut self, claim: &str) -> &mut VolumeContents {
        self.volumes.entry(claim.to_owned()).or_default()
    }

    /// The data on a PVC's volume.
    pub fn data(&self, claim: &str) -> Option<&Data> {
        self.volumes.get(claim)?.data.as_ref()
    }

    /// Releases all locks of a pod.
    pub fn release(&mut self, pod: &str) {
        for volume in self.volumes.values_mut().filter(|volume| volume.holder.as_deref() == Some(pod)) {
            volume.holder = None;
        }
    }

    /// Takes the lock of a volume for a pod, unless another pod holds it.
    pub fn lock(&mut self, claim: &str, pod: &str) -> bool {
        let volume = self.volume(claim);
        match &volume.holder {
            Some(holder) => holder == pod,
            None => {
                volume.holder = Some(pod.to_owned());
                true
            }
        }
    }

    /// New data, as initdb creates it.
    pub fn initdb(&mut self, major: u32, owner: Option<String>, superuser: &str) -> Data {
        let id = format!("{}", 7_000 + self.next_number());
        Data { id, major, owner, allows_clients: true, superuser: superuser.to_owned(), ..Data::default() }
    }
}
