//! What may happen to a world.

use runtime::testing::branching::Pass;

/// The versions that users ask for.
pub const VERSIONS: [&str; 8] = ["3.3.27", "3.4.40", "3.5.16", "3.5.35", "3.6.16", "v3.7.3", "3.6.99", "3.2.13"];

/// Something that happens. Numbers pick one of those that are there.
#[derive(Clone, Debug)]
pub enum Step {
    /// A pass of the operator.
    Pass(Pass),
    /// Its stores see some events of one kind.
    See { kind: usize, count: usize },
    /// All else goes on.
    Tick,
    /// All goes on, without anything happening, for so many rounds.
    Calm(u8),
    /// Minutes go by.
    Wait(u8),
    /// The spec changes.
    Edit(Edit),
    /// A container is killed.
    Kill(usize),
    /// Somebody deletes a pod.
    Evict(usize),
    /// Somebody deletes a pod and its claim.
    EvictFully(usize),
    /// Somebody deletes a claim, which stays as long as its pod does.
    DropClaim(usize),
    /// What is on a volume is gone, or cannot be read.
    Spoil { pod: usize, wiped: bool },
    /// The volume behind a claim is gone.
    Lose(usize),
    /// Somebody removes a member by etcdctl.
    Expel(usize),
    /// Somebody deletes a Service or the budget.
    DropChild(usize),
    /// A node goes or comes back.
    Node { node: u8, up: bool },
    /// Whether the image of a version can be pulled.
    Image { version: usize, there: bool },
    /// Whether the operator reaches a pod.
    Cut { pod: usize, cut: bool },
    /// Whether cluster DNS tells of anybody.
    Mute(bool),
    /// Whether the API server answers no query by the operator, while watches go on.
    Blind(bool),
    /// Whether learners get nowhere, and whether entries go no further than they must.
    Pace { slow: bool, lazy: bool },
    /// Whether the API server takes new pods, and whether a dry run tells.
    Refuse { pods: bool, told: bool },
    /// Whether a database is full, at which the alarm goes on. It goes off only when it is taken back.
    Alarm(bool),
    /// Somebody takes a label from a pod, or gives it another value.
    Relabel { pod: usize, label: usize },
    /// The same, of a claim.
    RelabelClaim { pod: usize, label: usize },
    /// The object's status is gone.
    LoseStatus,
    /// The object is deleted, with what it owns, and comes back from a backup: with another uid, and with its status or not.
    Reborn { status: bool },
    /// Somebody lets the object take over the volumes of the one before.
    Adopt,
}

/// A change of the spec.
#[derive(Clone, Debug)]
pub enum Edit {
    Size(i32),
    Version(usize),
    NoVersion,
    Restart(u8),
    Paused(bool),
    Quota(bool),
    /// An option that etcd takes, or one at which it ends at once.
    Option {
        good: bool,
    },
    /// Labels by which a network policy cuts members off; or those labels are taken back.
    Isolated(bool),
    /// Labels by which a network policy keeps the operator alone from members; or those labels are taken back.
    Hidden(bool),
    /// Pods are to run on nodes of a kind that there is none of; or that is taken back.
    Nowhere(bool),
    /// Another member shall lead.
    Lead(u8),
}
