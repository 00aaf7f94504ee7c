//! What is to be done about a data folder: use it, make it, or touch nothing. Pure.

use super::controldata::{ControlData, major};
use crate::failure::{Failure, Reason};

/// What was seen in a data folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
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
        /// Whom the data was made for, if that was noted.
        owner: Option<String>,
    },
}

/// What must be so.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) major: u32,
    /// Data may be made if there is none: the database was never initialised.
    pub(crate) initialise: bool,
    pub(crate) system_identifier: Option<&'a str>,
    pub(crate) owner: Option<&'a str>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Initialise,
    Use(ControlData),
}

/// Nothing is ever made over something, and nothing is made unless that was asked for.
pub(crate) fn judge(folder: Folder, wanted: &Wanted<'_>) -> Result<Verdict, Failure> {
    let foreign = |sentence: String| Err(Failure::new(Reason::ForeignData, sentence));
    match folder {
        Folder::Empty if wanted.initialise => Ok(Verdict::Initialise),
        Folder::Empty => Err(Failure::new(
            Reason::DataMissing,
            "the data folder is empty, and the database has been initialised before; no new data is made in its place",
        )),
        Folder::Unknown { example } => foreign(format!(
            "the data folder holds {example} and no PG_VERSION: it is not PostgreSQL's, and is not touched"
        )),
        Folder::Data { version, control, owner } => {
            if major(&version) != Some(wanted.major) {
                let sentence = format!("the data is of PostgreSQL {}, this is {}", version.trim(), wanted.major);
                return Err(Failure::new(Reason::WrongMajor, sentence));
            }
            let control = control.map_err(|why| Failure::new(Reason::DataCorrupt, why))?;
            match (wanted.system_identifier, wanted.owner) {
                (Some(expected), _) if expected != control.system_identifier => foreign(format!(
                    "the data's system identifier is {}, this database's is {expected}",
                    control.system_identifier
                )),
                (None, Some(expected)) if owner.as_deref() != Some(expected) => foreign(format!(
                    "the data was made for {}, not for {expected}",
                    owner.as_deref().unwrap_or("somebody else")
                )),
                _ => Ok(Verdict::Use(control)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted<'_> =
        Wanted { major: 15, initialise: false, system_identifier: Some("7"), owner: Some("uid") };

    fn data(version: &str, identifier: &str, owner: Option<&str>) -> Folder {
        let control = ControlData::parse(&format!("Database system identifier: {identifier}"));
        Folder::Data { version: version.into(), control, owner: owner.map(Into::into) }
    }

    fn reason(folder: Folder, wanted: &Wanted<'_>) -> Reason {
        judge(folder, wanted).unwrap_err().reason()
    }

    #[test]
    fn data_is_made_only_where_there_is_nothing_and_only_when_asked() {
        let first = Wanted { initialise: true, system_identifier: None, ..WANTED };
        assert_eq!(judge(Folder::Empty, &first), Ok(Verdict::Initialise));
        assert_eq!(reason(Folder::Empty, &WANTED), Reason::DataMissing);
        assert_eq!(reason(Folder::Unknown { example: "x".into() }, &first), Reason::ForeignData);
    }

    #[test]
    fn data_must_be_ours() {
        assert!(matches!(judge(data("15\n", "7", None), &WANTED), Ok(Verdict::Use(_))));
        assert_eq!(reason(data("15\n", "8", Some("uid")), &WANTED), Reason::ForeignData);
        assert_eq!(reason(data("14\n", "7", None), &WANTED), Reason::WrongMajor);
        assert_eq!(reason(data("junk", "7", None), &WANTED), Reason::WrongMajor);
        assert_eq!(reason(data("15\n", "", None), &WANTED), Reason::DataCorrupt);
    }

    #[test]
    fn before_the_identifier_is_known_the_note_counts() {
        let first = Wanted { initialise: true, system_identifier: None, ..WANTED };
        assert!(judge(data("15\n", "7", Some("uid")), &first).is_ok());
        assert_eq!(reason(data("15\n", "7", Some("other")), &first), Reason::ForeignData);
        assert_eq!(reason(data("15\n", "7", None), &first), Reason::ForeignData);
        assert!(judge(data("15\n", "7", None), &Wanted { owner: None, ..first }).is_ok());
    }
}
