//! The git repository that Argo CD reads.

use std::path::Path;

use super::{APPLICATIONS, Scratch, applications, refresh, variable};
use crate::kubectl::run;

/// A clone of it.
pub struct Git {
    directory: Scratch,
}

impl Git {
    /// Clones it.
    pub async fn clone() -> Self {
        let git = Self { directory: Scratch::new("git") };
        git.run(&["clone", "--quiet", &variable("GIT"), "."]).await;
        git
    }

    /// The directory of the working copy.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory.0
    }

    /// Replaces text in a file.
    ///
    /// # Panics
    /// If the file does not have it.
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.directory().join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(from), "{file} has no {from:?}:\n{text}");
        std::fs::write(&path, text.replace(from, to)).expect("the file can be written");
    }

    /// Adds a file.
    pub fn add(&self, file: &str, text: &str) {
        let path = self.directory().join(file);
        std::fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a directory can be created");
        std::fs::write(&path, text).expect("the file can be written");
    }

    /// Commits and pushes all changes, and has Argo CD notice; returns the revision.
    pub async fn push(&self, message: &str) -> String {
        self.run(&["add", "--all"]).await;
        self.run(&["commit", "--quiet", "--message", message]).await;
        self.publish().await
    }

    /// Reverts the last commit, by another one; returns the revision.
    pub async fn take_back(&self) -> String {
        self.run(&["revert", "--no-edit", "HEAD"]).await;
        self.publish().await
    }

    async fn publish(&self) -> String {
        self.run(&["push", "--quiet", "origin", "HEAD:main"]).await;
        let there = applications().await;
        for name in APPLICATIONS.iter().filter(|name| there.contains_key(**name)) {
            refresh(name, false).await;
        }
        self.run(&["rev-parse", "HEAD"]).await.trim().to_owned()
    }

    async fn run(&self, arguments: &[&str]) -> String {
        let directory = self.directory().to_str().expect("the path is text");
        let who = ["-C", directory, "-c", "user.name=e2e", "-c", "user.email=e2e@localhost"];
        run("", "git", &[&who[..], arguments].concat()).await.ok()
    }
}
