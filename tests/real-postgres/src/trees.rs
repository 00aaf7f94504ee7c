//! The file trees of PostgreSQL's images, whose programs the tests run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tree for tests of a single server.
pub fn chosen() -> String {
    std::env::var("PG_TREE").expect("PG_TREE must name the tree to test, such as 15-old (scripts/test --all servers)")
}

/// The major version of a tree, which may be one of several of it: 15 of `15-old`.
pub fn major(tree: &str) -> &str {
    tree.split_once('-').map_or(tree, |(major, _)| major)
}

/// Where a tree has a program of PostgreSQL.
pub fn program(tree: &str, name: &str) -> PathBuf {
    PathBuf::from(format!("/usr/lib/postgresql/{}/bin/{name}", major(tree)))
}

/// A program with a tree as its root, as the tree's user `postgres`, because PostgreSQL refuses to run as root. `/tmp` is the
/// test's own, which has its directory there. The program has the process ID of the command, to which tests send signals.
pub fn command(tree: &str, program: &Path) -> Command {
    const ENTER: &str = "mount --rbind /tmp $0/tmp && mount --rbind /proc $0/proc && mount --rbind /dev $0/dev &&
        exec chroot --userspec=999:999 $0 \"$@\"";
    let trees =
        std::env::var_os("PG_TREES").expect("PG_TREES must name the directory of trees (scripts/test --all servers)");
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "--propagation", "private", "sh", "-c", ENTER])
        .arg(PathBuf::from(trees).join(tree))
        .arg(program);
    command
        .env("PATH", format!("/usr/lib/postgresql/{}/bin:/usr/sbin:/usr/bin:/sbin:/bin", major(tree)))
        .env_remove("PG_MAJOR");
    command.current_dir("/tmp").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
