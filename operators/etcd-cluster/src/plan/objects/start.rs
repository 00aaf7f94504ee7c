//! Pure: how a member begins.

/// Annotation with how the member of a pod begins.
pub(in crate::plan) const START: &str = "multi-operator.example.com/start";

/// How a member begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As the first of a new cluster.
    New,
    /// As one more member of a cluster that runs, with an empty volume.
    Join,
    /// As itself again, with the data that it had.
    Again,
}

impl Start {
    /// The agent's word for it.
    pub(in crate::plan) fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Join => "join",
            Self::Again => "data",
        }
    }
}
