//! Pure: what of an object's children its status tells.

use api::{Contract, condition_type};

use super::meta::Meta;

/// What an object's status told of its children when the pass over it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// Nothing: it has had none, as far as is known.
    Nothing,
    /// That there were some, of an earlier generation or not as asked.
    Something,
    /// That all was as this generation asks: what it does not send, and an earlier one did, is gone.
    All,
}

impl Reported {
    /// By that status.
    #[must_use]
    pub fn by(status: &Contract, meta: &Meta) -> Self {
        match status.observed_generation {
            ..0 => Self::Nothing,
            told if told == meta.generation && status.is_true(condition_type::READY) => Self::All,
            _ => Self::Something,
        }
    }

    /// Whether children of it may have been deleted without our having seen it.
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
    fn all_is_told_by_ready_of_this_generation_alone() {
        let meta: Meta = serde_json::from_value(json!({ "namespace": "n", "name": "a", "generation": 2 })).unwrap();
        let told = |observed_generation, summary: Summary| {
            let conditions = summary.conditions(api::Reason::reported("Why"), "why", Timestamp::UNIX_EPOCH);
            Reported::by(&Contract { observed_generation, managed_by: None, conditions }, &meta)
        };
        assert_eq!(told(2, Summary::Ready), Reported::All);
        assert_eq!(
            [told(1, Summary::Ready), told(2, Summary::Reconciling), told(2, Summary::Stalled)],
            [Reported::Something; 3]
        );
        assert_eq!(Reported::by(&Contract::default(), &meta), Reported::Nothing);
        assert!(!Reported::Nothing.had_children() && Reported::Something.had_children());
    }
}
