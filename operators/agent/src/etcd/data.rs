//! Whether there is data, and whether etcd has run in this pod before.
//!
//! The agent records the start of etcd in a file of a volume that lives as long as the pod. By that record alone, an etcd that
//! exited before it created its log (because of an unknown flag, or a peer that does not list the member yet) would look like one
//! that lost its log. So the agent creates the log's directory, empty, before etcd starts, and records its inode. When etcd
//! creates its log, it replaces this directory by a rename. As long as the directory is the same, there has been no log.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::etcd::plan::PreviousRun;
use crate::failure::{CommandFailure, Reason};

/// Whether etcd would find a log in its data directory. A directory that cannot be read does not count as empty.
pub(crate) fn present(data_dir: &Path) -> Result<bool, CommandFailure> {
    has_log(&log(data_dir)).map_err(|error| {
        let message = format!("{} cannot be read: {error}; etcd is not started", log(data_dir).display());
        CommandFailure::new(Reason::DataUnreadable, message)
    })
}

fn log(data_dir: &Path) -> PathBuf {
    data_dir.join("member/wal")
}

fn has_log(directory: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        if Path::new(&entry?.file_name()).extension().is_some_and(|extension| extension == "wal") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The marker that etcd was started in this pod.
#[derive(Debug)]
pub(crate) struct StartMarker {
    directory: PathBuf,
}

impl StartMarker {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Only valid while there is no data.
    pub(crate) fn previous_run(&self, data_dir: &Path) -> Result<PreviousRun, CommandFailure> {
        let recorded = match fs::read_to_string(self.file()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PreviousRun::None),
            recorded => recorded.map_err(|error| self.unusable(&error))?,
        };
        let untouched = inode(&log(data_dir)).is_ok_and(|inode| recorded == inode);
        Ok(if untouched { PreviousRun::NothingKept } else { PreviousRun::HadData })
    }

    /// Called before a first start.
    pub(crate) fn first_start(&self, data_dir: &Path) -> Result<(), CommandFailure> {
        let log = log(data_dir);
        // etcd warns about any other mode: only its own user should read the data.
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&log).and_then(|()| inode(&log));
        let inode = created.map_err(|error| {
            let message = format!("{} cannot be created: {error}; etcd is not started", log.display());
            CommandFailure::new(Reason::DataUnreadable, message)
        })?;
        self.write(&inode).map_err(|error| self.unusable(&error))
    }

    /// Called before a start on existing data.
    ///
    /// Best effort: a member that has its data must not stay down because of a marker.
    pub(crate) fn start_on_data(&self) {
        if let Err(error) = self.write("data") {
            eprintln!("cannot record in {} that etcd starts: {error}", self.file().display());
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.join("started")
    }

    fn write(&self, text: &str) -> io::Result<()> {
        let new = self.directory.join("started.new");
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, self.file())?;
        File::open(&self.directory)?.sync_all()
    }

    fn unusable(&self, error: &io::Error) -> CommandFailure {
        let message = format!("{} cannot be used: {error}; etcd is not started", self.file().display());
        CommandFailure::new(Reason::StateUnusable, message)
    }
}

fn inode(path: &Path) -> io::Result<String> {
    Ok(format!("empty {}", fs::metadata(path)?.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("agent-data-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("state")).unwrap();
            Self(path)
        }

        fn marker(&self) -> StartMarker {
            StartMarker::new(&self.0.join("state"))
        }

        fn data(&self) -> PathBuf {
            self.0.join("data")
        }

        /// As etcd does it.
        fn create_log(&self) {
            let created = self.0.join("data/member/wal.tmp");
            fs::create_dir_all(&created).unwrap();
            fs::write(created.join("0000000000000000-0000000000000000.wal"), "log").unwrap();
            let _ = fs::remove_dir_all(log(&self.data()));
            fs::rename(created, log(&self.data())).unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn data_is_a_log() {
        let scratch = Scratch::new("log");
        assert_eq!(present(&scratch.data()), Ok(false));
        fs::create_dir_all(log(&scratch.data())).unwrap();
        fs::write(log(&scratch.data()).join("0.tmp"), "").unwrap();
        assert_eq!(present(&scratch.data()), Ok(false));
        scratch.create_log();
        assert_eq!(present(&scratch.data()), Ok(true));
    }

    #[test]
    fn what_cannot_be_read_is_not_absent() {
        let scratch = Scratch::new("unreadable");
        fs::create_dir_all(scratch.data()).unwrap();
        fs::write(scratch.data().join("member"), "a file where a directory should be").unwrap();
        let failure = present(&scratch.data()).unwrap_err();
        assert_eq!(failure.reason(), Reason::DataUnreadable);
        assert!(failure.message().contains("member/wal cannot be read"), "{failure:?}");
    }

    #[test]
    fn a_start_before_the_log_was_created_does_not_count() {
        let scratch = Scratch::new("unborn");
        let (marker, data) = (scratch.marker(), scratch.data());
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::None));
        marker.first_start(&data).unwrap();
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::NothingKept));
        marker.first_start(&data).unwrap();
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::NothingKept));
    }

    #[test]
    fn a_deleted_log_counts_as_data() {
        let scratch = Scratch::new("deleted");
        let (marker, data) = (scratch.marker(), scratch.data());
        marker.first_start(&data).unwrap();
        scratch.create_log();
        for entry in fs::read_dir(log(&data)).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::HadData), "the files are deleted");
        fs::remove_dir_all(&data).unwrap();
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::HadData), "everything is deleted");
    }

    #[test]
    fn a_start_on_existing_data_is_recorded_too() {
        let scratch = Scratch::new("from-the-first");
        scratch.create_log();
        scratch.marker().start_on_data();
        fs::remove_dir_all(scratch.data()).unwrap();
        assert_eq!(scratch.marker().previous_run(&scratch.data()), Ok(PreviousRun::HadData));
    }
}
