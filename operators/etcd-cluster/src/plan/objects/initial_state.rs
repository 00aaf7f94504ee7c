//! Pure: how a member's etcd starts.

use agent_protocol::EtcdRecover;

/// Annotation with how the etcd of a pod starts.
pub(in crate::plan) const START: &str = "multi-operator.example.com/start";

/// How a member's etcd starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialState {
    /// As the first member of a new cluster.
    New,
    /// As a new member of an existing cluster, on an empty volume.
    Existing,
    /// As the same member, on its data.
    Restart,
    /// As the only member of its cluster, on its data.
    Recover,
}

impl InitialState {
    /// The value of the annotation, which the agent reads.
    pub(in crate::plan) fn annotation_value(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Existing => "join",
            Self::Restart => "data",
            Self::Recover => EtcdRecover::START,
        }
    }
}
