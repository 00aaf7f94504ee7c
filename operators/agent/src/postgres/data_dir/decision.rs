//! Pure: what is to be done about a data directory: use it, make it, or touch nothing.

use crate::failure::{Failure, Reason};
use crate::postgres::client::version_number::major;
use crate::postgres::data_dir::controldata::ControlData;

/// What was seen in a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataDir {
    /// It is not there, or there is nothing in it.
    Empty,
    /// There is something, and no `PG_VERSION`.
    Unknown {
        /// One of its files.
        example: String,
    },
    Data {
        /// What `PG_VERSION` says.
        version: String,
        /// What `pg_controldata` says, or why it says nothing.
        control: Result<ControlData, String>,
        /// The database that the data was created for, if that was recorded.
        owner: Option<String>,
    },
}

/// What must be so.
#[derive(Clone, Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) major: u32,
    /// Data may be made if there is none: the database was never initialized.
    pub(crate) may_create: bool,
    pub(crate) system_identifier: Option<&'a str>,
    pub(crate) owner: Option<&'a str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Create,
    Use(ControlData),
}

/// Nothing is ever made over something, and nothing is made unless that was asked for.
pub(crate) fn decide(folder: DataDir, wanted: &Expected<'_>) -> Result<Decision, Failure> {
    let foreign = |message: String| Err(Failure::new(Reason::ForeignData, message));
    match folder {
        DataDir::Empty if wanted.may_create => Ok(Decision::Create),
        DataDir::Empty => Err(Failure::new(
            Reason::DataMissing,
            "the data directory is empty, although the database has been initialized before; the agent creates no new data in its place",
        )),
        DataDir::Unknown { example } => foreign(format!(
            "the data directory contains {example} and no PG_VERSION: it is not PostgreSQL's, so the agent does not change it"
        )),
        DataDir::Data { version, control, owner } => {
            if major(&version) != Some(wanted.major) {
                let message =
                    format!("the data is of PostgreSQL {}, the programs are of {}", version.trim(), wanted.major);
                return Err(Failure::new(Reason::WrongMajor, message));
            }
            let control = control.map_err(|why| Failure::new(Reason::DataCorrupt, why))?;
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

    const WANTED: Expected<'_> =
        Expected { major: 15, may_create: false, system_identifier: Some("7"), owner: Some("uid") };

    fn data(version: &str, identifier: &str, owner: Option<&str>) -> DataDir {
        let control = ControlData::parse(&format!("Database system identifier: {identifier}"));
        DataDir::Data { version: version.into(), control, owner: owner.map(Into::into) }
    }

    fn reason(folder: DataDir, wanted: &Expected<'_>) -> Reason {
        decide(folder, wanted).unwrap_err().reason()
    }

    #[test]
    fn data_is_made_only_where_there_is_nothing_and_only_when_asked() {
        let first = Expected { may_create: true, system_identifier: None, ..WANTED };
        assert_eq!(decide(DataDir::Empty, &first), Ok(Decision::Create));
        assert_eq!(reason(DataDir::Empty, &WANTED), Reason::DataMissing);
        assert_eq!(reason(DataDir::Unknown { example: "x".into() }, &first), Reason::ForeignData);
    }

    #[test]
    fn data_must_be_ours() {
        assert!(matches!(decide(data("15\n", "7", None), &WANTED), Ok(Decision::Use(_))));
        assert_eq!(reason(data("15\n", "8", Some("uid")), &WANTED), Reason::ForeignData);
        assert_eq!(reason(data("14\n", "7", None), &WANTED), Reason::WrongMajor);
        assert_eq!(reason(data("junk", "7", None), &WANTED), Reason::WrongMajor);
        assert_eq!(reason(data("15\n", "", None), &WANTED), Reason::DataCorrupt);
    }

    #[test]
    fn before_the_identifier_is_known_the_note_counts() {
        let first = Expected { may_create: true, system_identifier: None, ..WANTED };
        assert!(decide(data("15\n", "7", Some("uid")), &first).is_ok());
        assert_eq!(reason(data("15\n", "7", Some("other")), &first), Reason::ForeignData);
        assert_eq!(reason(data("15\n", "7", None), &first), Reason::ForeignData);
        assert!(decide(data("15\n", "7", None), &Expected { owner: None, ..first }).is_ok());
    }
}
