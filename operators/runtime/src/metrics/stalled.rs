//! Which objects are Stalled and need attention, whatever their kind.

use api::{Contract, condition_type};

use super::objects::{Family, Of};
use crate::plan::meta::Key;

const STALLED: Family = Family {
    name: "multi_operator_stalled",
    help: "1 while the condition Stalled of an object is True, so that it needs attention; absent otherwise",
    counter: false,
};

/// Tells whether an object of that controller does.
pub fn tell(controller: &'static str, key: &Key, contract: &Contract) {
    match contract.is_true(condition_type::STALLED) {
        true => Of { controller, key }.set(STALLED, Some(("controller", controller)), 1.0),
        false => forget(controller, key),
    }
}

/// Tells of an object no more.
pub fn forget(controller: &'static str, key: &Key) {
    Of { controller, key }.unset(STALLED);
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::metrics::objects;
    use crate::status::conditions::Summary;

    #[test]
    fn what_is_stalled_is_told_and_nothing_else() {
        let contract = |summary: Summary| Contract {
            conditions: summary.conditions(api::Reason::reported("Reason"), "why", Timestamp::UNIX_EPOCH),
            ..Contract::default()
        };
        let told = || {
            let mut text = String::new();
            objects::append(&mut text);
            text.lines()
                .filter(|line| line.starts_with("multi_operator_stalled{"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (one, other) = (Key::new("n", "one"), Key::new("n", "other"));
        tell("a", &one, &contract(Summary::Stalled));
        tell("b", &one, &contract(Summary::Stalled));
        tell("a", &other, &contract(Summary::Reconciling));
        let line = |controller| {
            format!("multi_operator_stalled{{namespace=\"n\",name=\"one\",controller=\"{controller}\"}} 1")
        };
        assert_eq!(told(), [line("a"), line("b")]);
        tell("a", &one, &contract(Summary::Ready));
        assert_eq!(told(), [line("b")]);
        objects::forget("b", &one);
        assert_eq!(told(), Vec::<String>::new());
    }
}
