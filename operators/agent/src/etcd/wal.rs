//! Commits what is left in the log of a member that continues alone.
//!
//! A member records which entries are committed only with later entries, so after a power failure the last ones count as not committed,
//! although they were acknowledged to clients. In a cluster, its leader commits them again. `--force-new-cluster` drops them instead. (After three
//! members of 3.2 to 3.7 were killed at once, the last acknowledged write was missing in 7 of 8 runs.) So before that, the agent
//! appends a record by which all entries are committed: for a member that continues alone, no other log can contradict its own.

mod record;

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use record::{HardState, LogRead, frame, is_torn};

/// How many bytes are overwritten at a time.
const BLOCK: usize = 64 << 10;

/// The log's end before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    /// The index of the last entry that counted as committed.
    pub(super) before: u64,
    /// The index of the last entry, which counts as committed now.
    pub(super) last: u64,
}

/// Commits all entries. etcd must not run.
pub(super) fn commit_all(data_dir: &Path) -> io::Result<Committed> {
    let segments = segments(&data_dir.join("member/wal"))?;
    let newest = segments.last().ok_or_else(|| io::Error::other("there is no segment"))?;
    let (end, mut read) = read(newest)?;
    for earlier in segments.iter().rev().skip(1) {
        if read.last.is_some() && read.state.is_some() {
            break;
        }
        let (_, before) = self::read(earlier)?;
        read = LogRead { last: read.last.or(before.last), state: read.state.or(before.state), ..read };
    }
    let state = read.state.ok_or_else(|| io::Error::other("there is no hard state"))?;
    // Without entries, a snapshot has replaced them, and they were committed.
    let last = read.last.unwrap_or(state.commit).max(state.commit);
    if last > state.commit {
        append(newest, end, &read.append(HardState { commit: last, ..state }))?;
    }
    Ok(Committed { before: state.commit, last })
}

/// The segments, from the oldest to the newest: their names begin with a number in hexadecimal, of the same length in all.
fn segments(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    let mut segments: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    segments.retain(|path| path.extension() == Some(OsStr::new("wal")));
    segments.sort();
    Ok(segments)
}

/// Reads a segment up to its last record. Returns where that ends. What a power failure has left of another record does not count.
///
/// # Errors
///
/// If a record is damaged.
fn read(segment: &Path) -> io::Result<(u64, LogRead)> {
    let mut file = BufReader::new(File::open(segment)?);
    let (mut end, mut read) = (0, LogRead::default());
    let mut record = Vec::new();
    loop {
        let mut header = [0; 8];
        match file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok((end, read)),
            complete => complete?,
        }
        if header == [0; 8] {
            return Ok((end, read));
        }
        let damaged = || {
            let message = format!("{} is damaged after byte {end}", segment.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let (length, padding) = frame(header).ok_or_else(damaged)?;
        let whole = (length + padding) as u64;
        record.clear();
        if file.by_ref().take(whole).read_to_end(&mut record)? as u64 != whole {
            return Ok((end, read));
        }
        read = match read.with(&record[..length]) {
            Some(next) => next,
            None if is_torn(end + 8, &record) => return Ok((end, read)),
            None => return Err(damaged()),
        };
        end += 8 + whole;
    }
}

/// Writes a record where the last one ends, and zeros after it, as etcd does with what a torn write has left.
fn append(segment: &Path, end: u64, record: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(segment)?;
    zero_from(&mut file, end)?;
    file.seek(SeekFrom::Start(end))?;
    file.write_all(record)?;
    file.sync_all()
}

/// Overwrites what is not zero.
fn zero_from(file: &mut File, start: u64) -> io::Result<()> {
    let mut at = file.seek(SeekFrom::Start(start))?;
    let mut block = vec![0; BLOCK];
    loop {
        let found = file.read(&mut block)?;
        if found == 0 {
            return Ok(());
        }
        if block[..found].iter().any(|byte| *byte != 0) {
            file.seek(SeekFrom::Start(at))?;
            block[..found].fill(0);
            file.write_all(&block[..found])?;
        }
        at += found as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment whose entries 1 to 3 are in the log, of which 2 are committed, and what a torn write has left.
    fn write_segment(directory: &Path) -> PathBuf {
        let wal = directory.join("member/wal");
        fs::create_dir_all(&wal).unwrap();
        let segment = wal.join("0000000000000000-0000000000000000.wal");
        let mut bytes = LogRead::default().append(HardState { term: 2, vote: 9, commit: 2 });
        // A record of an entry with the index 3: its checksum goes on from that of the state.
        let (length, _) = frame(bytes[..8].try_into().unwrap()).unwrap();
        let read = LogRead::default().with(&bytes[8..8 + length]).unwrap();
        bytes.extend(record::entry(read.checksum, 3));
        bytes.extend([0x20, 4, 0, 0, 0, 0, 0, 0, 8, 2, 16, 3]);
        bytes.resize(4096, 0);
        fs::write(&segment, bytes).unwrap();
        segment
    }

    #[test]
    fn entries_that_no_state_covers_are_committed_once() {
        let directory = std::env::temp_dir().join(format!("agent-wal-{}", std::process::id()));
        let segment = write_segment(&directory);
        assert_eq!(commit_all(&directory).unwrap(), Committed { before: 2, last: 3 });
        let (end, after) = read(&segment).unwrap();
        assert_eq!(after.state, Some(HardState { term: 2, vote: 9, commit: 3 }));
        let bytes = fs::read(&segment).unwrap();
        let end = usize::try_from(end).unwrap();
        assert!(bytes.len() == 4096 && bytes[end..].iter().all(|byte| *byte == 0));
        assert_eq!(commit_all(&directory).unwrap(), Committed { before: 3, last: 3 });
        assert_eq!(fs::read(&segment).unwrap(), bytes, "nothing is written without need");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_damaged_log_stays_as_it_is() {
        let directory = std::env::temp_dir().join(format!("agent-wal-damaged-{}", std::process::id()));
        let segment = write_segment(&directory);
        let mut bytes = fs::read(&segment).unwrap();
        // A bit of the first of two records.
        bytes[14] ^= 1;
        fs::write(&segment, &bytes).unwrap();
        assert!(commit_all(&directory).unwrap_err().to_string().contains("is damaged after byte 0"));
        assert_eq!(fs::read(&segment).unwrap(), bytes);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_segment_that_has_just_begun_is_completed_by_the_one_before() {
        let directory = std::env::temp_dir().join(format!("agent-wal-cut-{}", std::process::id()));
        let segment = write_segment(&directory);
        let (_, before) = read(&segment).unwrap();
        let newest = segment.with_file_name("0000000000000001-0000000000000004.wal");
        fs::write(&newest, record::first(before.checksum)).unwrap();
        assert_eq!(commit_all(&directory).unwrap(), Committed { before: 2, last: 3 });
        assert_eq!(read(&newest).unwrap().1.state, Some(HardState { term: 2, vote: 9, commit: 3 }));
        fs::remove_dir_all(&directory).unwrap();
    }
}
