//! What the comparison ignores.

/// Something that the comparison ignores, and why.
#[derive(Clone, Copy, Debug)]
pub struct Ignored {
    /// What is ignored.
    pub rule: IgnoreRule,
    /// Why.
    pub reason: &'static str,
}

/// How something is ignored.
#[derive(Clone, Copy, Debug)]
pub enum IgnoreRule {
    /// The field of objects of these kinds (of all if there are none) is left out.
    Field(&'static [&'static str], &'static [&'static str]),
    /// Items of a list are left out: those of which this field (themselves if it is empty) is that text.
    Item(&'static [&'static str], &'static str, &'static str),
    /// Any field of that name that is null is left out.
    Null(&'static str),
    /// An empty text there is left out.
    Empty(&'static [&'static str]),
    /// A text there is replaced by a placeholder, so that only its presence is compared. `*` is each item of a list.
    Text(&'static [&'static str], &'static str),
    /// An IP address there is replaced by a placeholder; other texts are not.
    Address(&'static [&'static str]),
    /// Uids in texts are replaced by their number in the answer, so that only which of them are the same is compared.
    Uids,
    /// The number that follows these words in the message is replaced by a placeholder.
    NumberAfter(&'static str),
    /// The lines of the message after the first are left out.
    MessageLines,
    /// The order of the parts of the list at the end of a message is ignored, if it has these words.
    MessageOrder(&'static str),
    /// The order of the items there is ignored.
    Order(&'static [&'static str]),
}

/// The kind that a status of a refused request counts as, other than that of a deletion.
pub(super) const FAILURE: &str = "Failure";
const WITH_CONTROLLERS: &[&str] = &["Deployment", "StatefulSet", "PodDisruptionBudget", "HorizontalPodAutoscaler"];
const MANAGED_FIELDS: &[&str] = &["metadata", "managedFields"];

/// All that is ignored. Beside it, whether the resourceVersion of an object is another than in the answer before is ignored for
/// kinds with a controller that writes to them (see [`crate::conformance::Seen::note`]).
pub const IGNORED: &[Ignored] = &[
    ignored(IgnoreRule::Uids, "each server draws its own"),
    ignored(IgnoreRule::Text(&["metadata", "resourceVersion"], "<version>"), "each server counts its own"),
    ignored(
        IgnoreRule::Text(&["metadata", "creationTimestamp"], "<time>"),
        "the servers are asked one after the other",
    ),
    ignored(
        IgnoreRule::Text(&["metadata", "deletionTimestamp"], "<time>"),
        "the servers are asked one after the other",
    ),
    ignored(
        IgnoreRule::Text(&["metadata", "managedFields", "*", "time"], "<time>"),
        "the servers are asked one after the other",
    ),
    ignored(IgnoreRule::Text(&["metadata", "continue"], "<continue>"), "its content is the server's own affair"),
    ignored(IgnoreRule::Address(&["spec", "clusterIP"]), "allocated at random"),
    ignored(IgnoreRule::Address(&["spec", "clusterIPs", "*"]), "allocated at random"),
    ignored(
        IgnoreRule::Order(MANAGED_FIELDS),
        "sorted by time, and a second may begin between two calls to one server only",
    ),
    ignored(IgnoreRule::Field(WITH_CONTROLLERS, &["status"]), "controllers write it at any time"),
    ignored(IgnoreRule::Item(MANAGED_FIELDS, "manager", "kube-controller-manager"), "controllers write at any time"),
    ignored(
        IgnoreRule::Field(&[], &["metadata", "annotations", "deployment.kubernetes.io/revision"]),
        "the Deployment controller writes it at any time",
    ),
    ignored(
        IgnoreRule::Item(&["metadata", "finalizers"], "", "kubernetes.io/pvc-protection"),
        "an admission plugin that the model lacks adds it to PVCs, and a controller removes it",
    ),
    ignored(IgnoreRule::Null("creationTimestamp"), "in templates, releases differ in whether an absent time is null"),
    ignored(
        IgnoreRule::Empty(&["metadata", "continue"]),
        "that there is no other page: lists of custom kinds have it empty, other lists have not",
    ),
    ignored(
        IgnoreRule::MessageOrder(".example.com "),
        "the validation of custom kinds reads maps of Go, in random order; other kinds have an order",
    ),
    ignored(
        IgnoreRule::Order(&["details", "causes"]),
        "the conflicts of an apply are in a map of Go; of other refusals, the message has the order",
    ),
    ignored(IgnoreRule::MessageLines, "a comparison of Go structs, which is worded at random"),
    ignored(IgnoreRule::NumberAfter("ResourceVersion in precondition: "), "each server counts its own versions"),
    ignored(IgnoreRule::NumberAfter("ResourceVersion in object meta: "), "each server counts its own versions"),
    ignored(IgnoreRule::NumberAfter("the ResourceVersion in record ("), "each server counts its own versions"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "name"]), "no client reads it, and the message has it"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "group"]), "no client reads it, and the message has it"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "kind"]), "no client reads it, and the message has it"),
    ignored(IgnoreRule::Field(&[FAILURE], &["details", "uid"]), "no client reads it"),
];

const fn ignored(rule: IgnoreRule, reason: &'static str) -> Ignored {
    Ignored { rule, reason }
}
