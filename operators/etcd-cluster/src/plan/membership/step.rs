//! Pure: one step, as it is decided.

use std::sync::Arc;

use api::Reason;

use crate::plan::objects::Start;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// All is as wished.
    Rest,
    /// Nothing can be done until something changes.
    Wait(Wait),
    /// Nothing can be done until a person does something: the condition's reason and message.
    Stuck(Reason, String),
    /// Make claims of an earlier object of this name this cluster's own.
    Adopt {
        /// Whose.
        names: Vec<String>,
    },
    /// Make a member's pod, and its claim if it has none.
    Start {
        /// The member.
        name: Arc<str>,
        /// How it begins.
        start: Start,
    },
    /// Have etcd list a member whose pod waits for that.
    Add {
        /// The member.
        name: String,
        /// Whether it shall not vote yet.
        learner: bool,
    },
    /// Put an entry into the log that changes nothing, for a learner to go on.
    Nudge {
        /// The learner's name.
        name: String,
    },
    /// Let a learner vote.
    Promote {
        /// The learner's name.
        name: String,
        /// Its id.
        id: u64,
    },
    /// Take a member off etcd's list, having marked its pod for that.
    Remove {
        /// The member.
        name: String,
        /// Its id.
        id: u64,
        /// Why, in words, if it is not that fewer are wanted.
        dead: Option<String>,
    },
    /// Delete the pod of somebody who is no member.
    DropPod {
        /// Whose.
        name: String,
    },
    /// Delete the pod of a member that comes back on its volume, as the spec asks, having noted on its claim that it shall.
    Renew {
        /// Whose.
        name: String,
    },
    /// Delete or retire the claim of somebody who is no member.
    DropClaim {
        /// Whose.
        name: String,
    },
    /// Have another member lead.
    MoveLeader {
        /// The next leader's name.
        to: String,
        /// Whether a person asks for it, and nothing else.
        asked: bool,
    },
    /// Have the log grow, up to where all members have taken a snapshot, before the first one leaves 3.6.
    Fill {
        /// Through which member.
        name: String,
        /// By how many entries now.
        entries: u64,
        /// How many are left after that.
        left: u64,
    },
    /// Take back the alarms by which etcd refuses writes: it does until the last one is off.
    Disarm {
        /// The members that raised them.
        ids: Vec<u64>,
    },
    /// Find out whether the wished image can be pulled, before the first member gets it.
    Pull {
        /// The member on whose node.
        beside: String,
    },
    /// Delete the pod that has found that out.
    DropPull {
        /// Whether it has found out nothing, so that another one tries.
        again: bool,
    },
    /// Find out whether a pod as the spec asks starts, before a member gives up its own for one.
    Try {
        /// The member.
        member: String,
        /// Whether the pod asks for all that the member's does, and not only for what that one does not have.
        whole: bool,
    },
    /// Delete the pods that have found that out.
    DropTrials,
    /// Give a member's pod the wished version's image.
    Upgrade {
        /// Whose.
        name: String,
    },
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// In one CamelCase word.
    pub reason: Reason,
    /// In words.
    pub message: String,
    /// Whether etcd has to be asked again soon: no watch will tell.
    pub soon: bool,
}

impl Step {
    pub(in crate::plan) fn stuck(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Stuck(reason.into(), message.into())
    }

    pub(in crate::plan) fn wait(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Wait(Wait { reason: reason.into(), message: message.into(), soon: false })
    }

    pub(super) fn ask_again(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Wait(Wait { reason: reason.into(), message: message.into(), soon: true })
    }
}
