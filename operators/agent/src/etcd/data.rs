//! Is there data, and has etcd run in this pod before.
//!
//! That etcd was started is recorded in a file of a volume that lives as long as the pod. That alone would take an
//! etcd that ended before it made its log (a flag that it does not know, a peer that does not know of the member yet)
//! for one that lost it. So the directory of the log is made before etcd starts, empty, and its inode is recorded: etcd
//! puts another directory in its place, by a rename, when it makes its log. The same directory still there means that
//! there was no log so far.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::etcd::plan::PreviousRun;
use crate::failure::{Failure, Reason};

/// Whether etcd would find a log in its data directory. What cannot be read is not taken for empty.
pub(crate) fn present(data_dir: &Path) -> Result<bool, Failure> {
    has_log(&log(data_dir)).map_err(|error| {
        let message = format!("{} cannot be read: {error}; etcd is not started", log(data_dir).display());
        Failure::new(Reason::DataUnreadable, message)
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

    /// To be asked when there is no data now.
    pub(crate) fn previous_run(&self, data_dir: &Path) -> Result<PreviousRun, Failure> {
        let recorded = match fs::read_to_string(self.file()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PreviousRun::None),
            recorded => recorded.map_err(|error| self.unusable(&error))?,
        };
        let untouched = inode(&log(data_dir)).is_ok_and(|inode| recorded == inode);
        Ok(if untouched { PreviousRun::NothingKept } else { PreviousRun::HadData })
    }

    /// To be called before a first start.
    pub(crate) fn first_start(&self, data_dir: &Path) -> Result<(), Failure> {
        let log = log(data_dir);
        // etcd warns about any other mode: only its own user should read the data.
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&log).and_then(|()| inode(&log));
        let inode = made.map_err(|error| {
            let message = format!("{} cannot be created: {error}; etcd is not started", log.display());
            Failure::new(Reason::DataUnreadable, message)
        })?;
        self.write(&inode).map_err(|error| self.unusable(&error))
    }

    /// To be called before a start on data.
    ///
    /// Best effort: data that is there must not stay down because of a marker.
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

    fn unusable(&self, error: &io::Error) -> Failure {
        let message = format!("{} cannot be used: {error}; etcd is not started", self.file().display());
        Failure::new(Reason::StateUnusable, message)
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
        fn make_log(&self) {
            let made = self.0.join("data/member/wal.tmp");
            fs::create_dir_all(&made).unwrap();
            fs::write(made.join("0000000000000000-0000000000000000.wal"), "log").unwrap();
            let _ = fs::remove_dir_all(log(&self.data()));
            fs::rename(made, log(&self.data())).unwrap();
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
        scratch.make_log();
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
    fn a_start_before_the_log_was_made_is_none() {
        let scratch = Scratch::new("unborn");
        let (marker, data) = (scratch.marker(), scratch.data());
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::None));
        marker.first_start(&data).unwrap();
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::NothingKept));
        marker.first_start(&data).unwrap();
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::NothingKept));
    }

    #[test]
    fn a_log_that_is_gone_was_there() {
        let scratch = Scratch::new("gone");
        let (marker, data) = (scratch.marker(), scratch.data());
        marker.first_start(&data).unwrap();
        scratch.make_log();
        for entry in fs::read_dir(log(&data)).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::HadData), "the files are gone");
        fs::remove_dir_all(&data).unwrap();
        assert_eq!(marker.previous_run(&data), Ok(PreviousRun::HadData), "everything is gone");
    }

    #[test]
    fn data_that_was_there_from_the_first_is_noted_too() {
        let scratch = Scratch::new("from-the-first");
        scratch.make_log();
        scratch.marker().start_on_data();
        fs::remove_dir_all(scratch.data()).unwrap();
        assert_eq!(scratch.marker().previous_run(&scratch.data()), Ok(PreviousRun::HadData));
    }
}
