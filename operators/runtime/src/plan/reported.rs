//! Pure: what the status of an object reports about its children.

use api::{Contract, condition_type};

use super::meta::Meta;

/// What the status of an object reported about its children when the reconcile began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Nothing: as far as known, it has never had children.
    Nothing,
    /// It had children, of an earlier generation or not as desired.
    Something,
    /// All was as this generation asks: fields that only an earlier one sent are removed.
    All,
}

impl Reported {
    /// What that status reports.
    #[must_use]
    pub fn by(status: &Contract, meta: &Meta) -> Self {
        match status.observed_generation {
            ..0 => Self::Nothing,
            reported if reported == meta.generation && status.is_true(condition_type::READY) => Self::All,
            _ => Self::Something,
        }
    }

    /// Whether children may have been deleted without being noticed.
    #[must_use]
    pub fn had_children(self) -> bool {
        self != Self::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::conditions::Summary;
    use jiff::Timestamp;
    use serde_json::json;

    #[test]
    fn only_ready_of_this_generation_reports_all() {
        let meta: Meta = serde_json::from_value(json!({ "namespace": "n", "name": "a", "generation": 2 })).unwrap();
        let reported = |observed_generation, summary: Summary| {
            let conditions = summary.conditions(api::Reason::reported("Why"), "why", Timestamp::UNIX_EPOCH);
            Reported::by(&Contract { observed_generation, managed_by: None, conditions }, &meta)
        };
        assert_eq!(reported(2, Summary::Ready), Reported::All);
        assert_eq!(
            [reported(1, Summary::Ready), reported(2, Summary::Reconciling), reported(2, Summary::Stalled)],
            [Reported::Something; 3]
        );
        assert_eq!(Reported::by(&Contract::default(), &meta), Reported::Nothing);
        assert!(!Reported::Nothing.had_children() && Reported::Something.had_children());
    }
}
