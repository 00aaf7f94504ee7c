//! Tells which PostgreSQL the image is, and whether a server could start here on data that there are.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use super::files;
use super::tools::Tools;
use crate::failure::{Failure, Reason};

/// What is asked of the image, and of the place that it runs in.
#[derive(Debug)]
pub(crate) struct Version {
    /// The user whom the data belong to.
    pub(crate) user: Option<u32>,
}

/// Asks the image's own programs.
pub(crate) fn version(options: &Version) -> Result<Value, Failure> {
    let own = fs::metadata("/proc/self")
        .map_err(|error| files::failed("read", "/proc/self".as_ref(), &error, Reason::ToolFailed))?;
    judge(own.uid(), options.user)?;
    Ok(json!({ "version": Tools::find()?.version()? }))
}

/// Source: `checkDataDir` of PostgreSQL's miscinit.c, which ends a server on data of another user's.
fn judge(runs_as: u32, data_of: Option<u32>) -> Result<(), Failure> {
    match data_of.filter(|user| *user != runs_as) {
        None => Ok(()),
        Some(user) => {
            let message = format!(
                "it would run as user {runs_as}, and PostgreSQL only starts as user {user}, whom its data belong to: have \
                 podSecurityContext say so, or say nothing of users"
            );
            Err(Failure::new(Reason::WrongUser, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_starts_as_nobody_but_the_owner_of_its_data() {
        assert_eq!(judge(999, None), Ok(()));
        assert_eq!(judge(999, Some(999)), Ok(()));
        assert!(judge(1000, Some(999)).is_err());
    }
}
