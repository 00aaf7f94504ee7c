//! The free space on a volume, as its file system reports it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::failure::Reason;
use crate::postgres::client::tools::Tools;

/// The total, and how much of it is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    pub(crate) all: u64,
    pub(crate) free: u64,
}

/// Bytes on the file system of a directory, if the image has df.
pub(crate) fn bytes(tools: &Tools, directory: &Path) -> Option<FreeSpace> {
    let space = df(tools, "-k", directory)?;
    Some(FreeSpace { all: space.all.checked_mul(1024)?, free: space.free.checked_mul(1024)? })
}

/// Inodes on the file system of a directory, if the image has df, and the file system has a limit.
pub(crate) fn inodes(tools: &Tools, directory: &Path) -> Option<FreeSpace> {
    df(tools, "-i", directory).filter(|space| space.all > 0)
}

fn df(tools: &Tools, of: &str, directory: &Path) -> Option<FreeSpace> {
    let df = [PathBuf::from("/bin/df"), PathBuf::from("/usr/bin/df")].into_iter().find(|path| path.is_file())?;
    let mut command = std::process::Command::new(df);
    command.args([OsStr::new("-P"), OsStr::new(of), directory.as_os_str()]).env("LC_ALL", "C");
    read(&tools.run(&mut command, Reason::ToolFailed).ok()?)
}

/// Reads the fields before the percentage in the second line: names of file systems may have spaces.
fn read(printed: &str) -> Option<FreeSpace> {
    let fields: Vec<&str> = printed.lines().nth(1)?.split_whitespace().collect();
    let percentage = fields.iter().position(|field| field.ends_with('%'))?;
    let field = |before: usize| fields.get(percentage.checked_sub(before)?)?.parse().ok();
    Some(FreeSpace { all: field(3)?, free: field(1)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_df_is_read() {
        let printed =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a b 263112772 1 33554432 65% /a b\n";
        assert_eq!(read(printed), Some(FreeSpace { all: 263_112_772, free: 33_554_432 }));
        let inodes = "Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/a 100 99 1 99% /a\n";
        assert_eq!(read(inodes), Some(FreeSpace { all: 100, free: 1 }));
        assert_eq!(read("Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/a - - - - /a\n"), None);
        assert_eq!(read("nothing"), None);
    }
}
