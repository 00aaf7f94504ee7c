//! How the parsing of a command line ends early: with help, or with what is wrong.

/// Why parsing ends early.
pub(super) enum Stop {
    Help,
    Wrong(String),
}

impl From<lexopt::Error> for Stop {
    fn from(error: lexopt::Error) -> Self {
        Self::Wrong(error.to_string())
    }
}

pub(super) fn wrong<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Wrong(why.into()))
}
