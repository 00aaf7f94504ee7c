//! Every planted bug in `mutants` still applies to the sources; `scripts/simulate --mutants` shows that schedules fail because of it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is two folders below the root")
}

/// What git says about a patch that does not apply to the sources. They need not be a clone, and may be within one of something else.
fn rejection(patch: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(root()).env("GIT_CEILING_DIRECTORIES", root().parent().unwrap_or(root()));
    // Hooks of git set these.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(variable);
    }
    let output = git.args(["apply", "--check"]).arg(patch).output().expect("git runs");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn patches() -> Vec<PathBuf> {
    let folder = root().join("operators/simulation/mutants");
    let entries = folder.read_dir().expect("there are mutants").map(|entry| entry.expect("a readable entry").path());
    let mut patches: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "patch")).collect();
    patches.sort();
    patches
}

#[test]
fn every_mutant_still_applies_and_says_what_it_is() {
    let patches = patches();
    assert!(patches.len() >= 30, "there are only {} mutants", patches.len());
    let mut wrong = Vec::new();
    for patch in patches {
        let text = std::fs::read_to_string(&patch).expect("a mutant is text");
        let name = patch.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !text.starts_with("# ") {
            wrong.push(format!("{name} does not begin with a line that says what the bug is"));
        }
        wrong.extend(rejection(&patch).map(|why| format!("{name} does not apply any more: {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_patch_of_other_sources_is_rejected() {
    let patch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("of-other-sources.patch");
    let file = "operators/simulation/src/lib.rs";
    let text = format!("# wrong\n--- a/{file}\n+++ b/{file}\n@@ -1,1 +1,1 @@\n-no such line\n+another line\n");
    std::fs::write(&patch, text).expect("the folder of tests is writable");
    let why = rejection(&patch).expect("it does not apply");
    assert!(why.contains(file), "{why}");
}
