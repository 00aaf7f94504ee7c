//! Programs of other versions than the one that is installed here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program of one of the file trees of images that `PG_TREES` has by their major versions: with the tree as its root, and
/// what it shares with the test where it is here. The process has the number of the command.
pub fn command(major: &str, program: &Path) -> Command {
    const ENTER: &str = "mount --rbind /tmp $0/tmp && mount --rbind /proc $0/proc && mount --rbind /dev $0/dev &&
        exec chroot --userspec=999:999 $0 \"$@\"";
    let trees = std::env::var_os("PG_TREES").expect("PG_TREES must name the folder of file trees for this test");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-c", ENTER])
        .arg(PathBuf::from(trees).join(major))
        .arg(program);
    command
        .env("PATH", format!("/usr/lib/postgresql/{major}/bin:/usr/sbin:/usr/bin:/sbin:/bin"))
        .env_remove("PG_MAJOR");
    command.current_dir("/tmp").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
