//! Pure: decides by comparing two fingerprints whether an apply is needed.
//!
//! Server-side apply records in `managedFields` which fields each manager owns. The part of a live object that our manager owns
//! is what it rendered last, with the present values: if another writer changes one of those fields, it takes over the ownership,
//! and if we render fewer fields, the live part has more. So the live object is as rendered exactly if the owned part equals the
//! rendered one, whatever defaults and other managers have added. A hash of each is enough, so stores need not hold complete
//! children. (docs/decisions/002-drift-by-ownership.md)
//!
//! [`Additions`] finds what others have added in places that only we may fill, and [`repair`] removes it with a patch.
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
pub use defaults::{CreatedFingerprint, Rendered};
pub use fingerprint::Fingerprint;
pub use ownership::{Owners, Ownership};
pub use rules::{FieldRules, rules};

#[cfg(test)]
mod tests;
