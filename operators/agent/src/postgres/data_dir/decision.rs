//! Pure: whether to use a data directory, to create data in it, or to refuse it.

use crate::failure::{CommandFailure, Reason};
use crate::postgres::client::version_number::major;
use crate::postgres::data_dir::controldata::ControlData;

/// What a data directory contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataDirState {
    /// It does not exist, or is empty.
    Empty,
    /// It contains files, and no `PG_VERSION`.
    Unknown {
        /// One of its files.
        example: String,
    },
    Data {
        /// The contents of `PG_VERSION`.
        version: String,
        /// The output of `pg_controldata`, or why it failed.
        control: Result<ControlData, String>,
        /// The database that the data was created for, if that was recorded.
        owner: Option<String>,
    },
}

/// The data that the command expects.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedData<'a> {
    pub(crate) major: u32,
    /// Whether the agent may create data if there is none: the database was never initialized.
    pub(crate) may_create: bool,
    pub(crate) system_identifier: Option<&'a str>,
    pub(crate) owner: Option<&'a str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Create,
    Use(ControlData),
}

/// Decides. The agent never creates data over existing files, and creates none unless the command requests that.
pub(crate) fn decide(state: DataDirState, wanted: &ExpectedData<'_>) -> Result<Decision, CommandFailure> {
    let foreign = |message: String| Err(CommandFailure::new(Reason::ForeignData, message));
    match state {
        DataDirState::Empty if wanted.may_create => Ok(Decision::Create),
        DataDirState::Empty => Err(CommandFailure::new(
            Reason::DataMissing,
            "the data directory is empty, although the database has been initialized before; the agent creates no new data in its place",
        )),
        DataDirState::Unknown { example } => foreign(format!(
            "the data directory contains {example} and no PG_VERSION: it is not PostgreSQL's, so the agent does not change it"
        )),
        DataDirState::Data { version, control, owner } => {
            if major(&version) != Some(wanted.major) {
                let message =
                    format!("the data is of PostgreSQL {}, the programs are of {}", version.trim(), wanted.major);
                return Err(CommandFailure::new(Reason::WrongMajor, message));
            }
            let control = control.map_err(|why| CommandFailure::new(Reason::DataCorrupt, why))?;
            match (wanted.system_identifier, wanted.owner) {
                (Some(expected), _) if expected != control.system_identifier => foreign(format!(
                    "the data's system identifier is {}, this database's is {expected}",
                    control.system_identifier
                )),
                (None, Some(expected)) if owner.as_deref() != Some(expected) => foreign(format!(
                    "the data was created for {}, not for {expected}",
                    owner.as_deref().unwrap_or("another database")
                )),
                _ => Ok(Decision::Use(control)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: ExpectedData<'_> =
        ExpectedData { major: 15, may_create: false, system_identifier: Some("7"), owner: Some("uid") };

    fn data(version: &str, identifier: &str, owner: Option<&str>) -> DataDirState {
        let control = ControlData::parse(&format!("Database system identifier: {identifier}"));
        DataDirState::Data { version: version.into(), control, owner: owner.map(Into::into) }
    }

    fn reason(state: DataDirState, wanted: &ExpectedData<'_>) -> Reason {
        decide(state, wanted).unwrap_err().reason()
    }

    #[test]
    fn data_is_created_only_in_an_empty_directory_and_on_request() {
        let first = ExpectedData { may_create: true, system_identifier: None, ..WANTED };
        assert_eq!(decide(DataDirState::Empty, &first), Ok(Decision::Create));
        assert_eq!(reason(DataDirState::Empty, &WANTED), Reason::DataMissing);
        assert_eq!(reason(DataDirState::Unknown { example: "x".into() }, &first), Reason::ForeignData);
    }

    #[test]
    fn data_must_be_that_of_the_database() {
        assert!(matches!(decide(data("15\n", "7", None), &WANTED), Ok(Decision::Use(_))));
        assert_eq!(reason(data("15\n", "8", Some("uid")), &WANTED), Reason::ForeignData);
        assert_eq!(reason(data("14\n", "7", None), &WANTED), Reason::WrongMajor);
        assert_eq!(reason(data("junk", "7", None), &WANTED), Reason::WrongMajor);
        assert_eq!(reason(data("15\n", "", None), &WANTED), Reason::DataCorrupt);
    }

    #[test]
    fn before_the_identifier_is_known_the_recorded_owner_counts() {
        let first = ExpectedData { may_create: true, system_identifier: None, ..WANTED };
        assert!(decide(data("15\n", "7", Some("uid")), &first).is_ok());
        assert_eq!(reason(data("15\n", "7", Some("other")), &first), Reason::ForeignData);
        assert_eq!(reason(data("15\n", "7", None), &first), Reason::ForeignData);
        assert!(decide(data("15\n", "7", None), &ExpectedData { owner: None, ..first }).is_ok());
    }
}
