//! The steps of a world.

use runtime::testing::fault_injection::ReconcileFaults;

/// The versions that users request.
pub const VERSIONS: [&str; 8] = ["3.3.27", "3.4.40", "3.5.16", "3.5.35", "3.6.16", "v3.7.3", "3.6.99", "3.2.13"];

/// A step. Numbers pick one of the existing objects.
#[derive(Clone, Debug)]
pub enum Step {
    /// A reconcile.
    Pass(ReconcileFaults),
    /// The stores receive some events of one kind.
    See { kind: usize, count: usize },
    /// Everything else advances.
    Tick,
    /// Everything advances for that many rounds.
    Calm(u8),
    /// Minutes pass.
    Wait(u8),
    /// The spec changes.
    Edit(Edit),
    /// A container is killed.
    Kill(usize),
    /// A user deletes a pod.
    Evict(usize),
    /// A user deletes a pod and its PVC.
    EvictFully(usize),
    /// A user deletes a PVC, which stays as long as its pod does.
    DropClaim(usize),
    /// The data on a volume is lost or corrupt.
    Spoil { pod: usize, wiped: bool },
    /// The volume of a PVC is lost.
    Lose(usize),
    /// A user removes a member with etcdctl.
    Expel(usize),
    /// A user deletes a Service or the budget.
    DropChild(usize),
    /// A node goes down or comes up.
    Node { node: u8, up: bool },
    /// Whether the image of a version can be pulled.
    Image { version: usize, there: bool },
    /// Whether the operator reaches a pod.
    Cut { pod: usize, cut: bool },
    /// Whether cluster DNS publishes addresses.
    Mute(bool),
    /// Whether the API server answers no query of the operator, while watches continue.
    Blind(bool),
    /// Whether learners make no progress, and whether entries reach only as many members as a commit requires.
    Pace { slow: bool, lazy: bool },
    /// Whether the API server accepts new pods, and whether a dry run reports that.
    Refuse { pods: bool, reported: bool },
    /// Whether a database is full, which raises the alarm. It stays until it is disarmed.
    Alarm(bool),
    /// A user removes a label of a pod, or changes its value.
    Relabel { pod: usize, label: usize },
    /// The same, of a PVC.
    RelabelClaim { pod: usize, label: usize },
    /// The object's status is lost.
    LoseStatus,
    /// The object is deleted with what it owns, and restored from a backup: with another uid, and with or without its status.
    Reborn { status: bool },
    /// The volumes and pods of all members but one are destroyed: of the one with the longest log, or else of another one.
    Ruin { longest: bool },
    /// A user runs the command of the condition, by which members are given up.
    GiveUp,
    /// A user lets the object adopt the volumes of the previous one.
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
    Hibernate(bool),
    Quota(bool),
    /// An option that etcd accepts, or one that it rejects.
    Option {
        good: bool,
    },
    /// Labels by which a network policy isolates members; or the removal of these labels.
    Isolated(bool),
    /// Labels by which a network policy keeps only the operator from reaching members; or the removal of these labels.
    Hidden(bool),
    /// A node selector that no node matches; or its removal.
    Nowhere(bool),
    /// A request for another leader.
    Lead(u8),
}
