//! Pure: is an apply needed? Asked by comparing two fingerprints.
//!
//! Server-side apply records in `managedFields` which fields each manager owns. The part of a live object that our
//! manager owns is what we rendered last, as it is now: if somebody changed one of those fields, the ownership went with
//! it, and if we render fewer fields, the live part has more. So the live object is as rendered exactly if the owned
//! part equals the rendered one, whatever defaults and other managers have put beside it. A hash of each is enough,
//! which is why stores need not hold whole children. (docs/decisions/002-drift-by-ownership.md)
//!
//! What others have added where all is ours is found beside that ([`Additions`]), and repaired by a patch ([`repair`]).
//!
//! Sources: <https://kubernetes.io/docs/reference/using-api/server-side-apply/> and the FieldsV1 format in
//! `k8s.io/apimachinery/pkg/apis/meta/v1` (`f:` field, `k:` list item by keys, `v:` set item, `.` the item itself).

mod additions;
mod defaults;
mod fingerprint;
mod overlay;
mod ownership;
pub mod repair;
mod rules;
mod selector;

pub use additions::{Additions, Unapplied};
pub(crate) use defaults::are_known as are_defaults_known;
pub use defaults::{Made, Rendered};
pub use fingerprint::Fingerprint;
pub use ownership::{Owners, Ownership};
pub use rules::{Rules, rules};

#[cfg(test)]
mod tests;
