//! Reasons of Events about members, which have blanks because the archived operator wrote them so.

use crate::Reason;

/// Reasons of Events about members, in the words of the archived operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EtcdMemberEvent {
    /// etcd no longer lists a member.
    MemberRemoved,
    /// A member runs another version.
    MemberUpgraded,
    /// etcd lists a new member.
    NewMemberAdded,
    /// The operator replaces a member that cannot come back.
    ReplacingDeadMember,
}

impl EtcdMemberEvent {
    /// All of them, in the order of their declaration.
    pub const ALL: &[Self] =
        &[Self::MemberRemoved, Self::MemberUpgraded, Self::NewMemberAdded, Self::ReplacingDeadMember];

    /// The words that stand in objects.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MemberRemoved => "Member Removed",
            Self::MemberUpgraded => "Member Upgraded",
            Self::NewMemberAdded => "New Member Added",
            Self::ReplacingDeadMember => "Replacing Dead Member",
        }
    }

    /// What it means, in a sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::MemberRemoved => "etcd no longer lists a member.",
            Self::MemberUpgraded => "A member runs another version.",
            Self::NewMemberAdded => "etcd lists a new member.",
            Self::ReplacingDeadMember => "The operator replaces a member that cannot come back.",
        }
    }
}

impl From<EtcdMemberEvent> for Reason {
    fn from(event: EtcdMemberEvent) -> Self {
        Self::of(event.as_str())
    }
}

impl PartialEq<EtcdMemberEvent> for Reason {
    fn eq(&self, other: &EtcdMemberEvent) -> bool {
        self.as_str() == other.as_str()
    }
}

impl std::fmt::Display for EtcdMemberEvent {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
