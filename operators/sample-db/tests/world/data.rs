//! What is on volumes: PostgreSQL's data, and the files of snapshots.

use std::collections::{BTreeMap, BTreeSet};

/// Numbers of the rows that applications have written.
pub type Rows = BTreeSet<u32>;

/// A data folder.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// PostgreSQL's identifier of it.
    pub id: String,
    pub major: u32,
    /// The uid of the database that it was made for.
    pub owner: Option<String>,
    pub rows: Rows,
    /// Whether applications get in.
    pub open: bool,
    /// Since when they do not, if that is for the sake of a copy.
    pub shut_since: Option<i64>,
    /// The superuser's password.
    pub superuser: String,
    /// The application's, once it has a role.
    pub app: Option<String>,
    /// How often the initial SQL has run; the ledger is a part of the data.
    pub ran: u32,
    /// What was set over a connection.
    pub settings: BTreeMap<String, String>,
    /// The snapshot that it was filled from, by its sum, and whether that was finished.
    pub restored: Option<(String, bool)>,
    /// Of what it is a copy that nobody has used yet: the other data's identifier, and since when that was shut.
    pub copy: Option<(String, i64)>,
}

/// A snapshot's files.
#[derive(Clone, Debug)]
pub struct File {
    pub sha: String,
    pub intact: bool,
    /// The release that made it.
    pub release: String,
    /// Whether it is the data folder itself.
    pub physical: bool,
    /// What it does not contain.
    pub lacks: Vec<&'static str>,
    /// What was in the data.
    pub data: Data,
}

/// A volume, which is either kind's.
#[derive(Clone, Debug, Default)]
pub struct Volume {
    pub data: Option<Data>,
    /// By name; unfinished ones have no name yet.
    pub files: BTreeMap<String, File>,
    /// The pod that holds the lock beside the data.
    pub holder: Option<String>,
}

/// All volumes, by the uid of their claim.
#[derive(Clone, Debug, Default)]
pub struct Disks {
    pub volumes: BTreeMap<String, Volume>,
    count: u32,
}

impl Disks {
    /// A number that nobody has had.
    pub fn fresh(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    /// The volume of a claim.
    pub fn volume(&mut self, claim: &str) -> &mut Volume {
        self.volumes.entry(claim.to_owned()).or_default()
    }

    /// The data on a claim's volume.
    pub fn data(&self, claim: &str) -> Option<&Data> {
        self.volumes.get(claim)?.data.as_ref()
    }

    /// A pod lets go of whatever it held.
    pub fn release(&mut self, pod: &str) {
        for volume in self.volumes.values_mut().filter(|volume| volume.holder.as_deref() == Some(pod)) {
            volume.holder = None;
        }
    }

    /// Takes the lock of a volume for a pod, if nobody else has it.
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

    /// New data, as initdb makes them.
    pub fn initdb(&mut self, major: u32, owner: Option<String>, superuser: &str) -> Data {
        let id = format!("{}", 7_000 + self.fresh());
        Data { id, major, owner, open: true, superuser: superuser.to_owned(), ..Data::default() }
    }
}
