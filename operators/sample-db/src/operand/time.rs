//! Pure: points in time, in whole seconds as in status.

use api::time::span;
use jiff::{Timestamp, Unit};

/// The time after that span, in whole seconds.
pub(crate) fn after(now: Timestamp, lasting: &str) -> Option<Timestamp> {
    now.checked_add(span(lasting)?).ok()?.round(Unit::Second).ok()
}

pub(crate) fn rounded(now: Timestamp) -> Option<Timestamp> {
    now.round(Unit::Second).ok()
}
