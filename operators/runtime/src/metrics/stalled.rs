//! The metric of objects of all kinds that are Stalled and need attention.

use api::{Contract, condition_type};

use super::objects::{MetricFamily, ObjectMetrics};
use crate::plan::meta::Key;

const STALLED: MetricFamily = MetricFamily {
    name: "multi_operator_stalled",
    help: "1 while the condition Stalled of an object is True, so that it needs attention; absent otherwise",
    counter: false,
};

/// Records whether an object of that controller is Stalled.
pub fn record(controller: &'static str, key: &Key, contract: &Contract) {
    match contract.is_true(condition_type::STALLED) {
        true => ObjectMetrics { controller, key }.set(STALLED, Some(("controller", controller)), 1.0),
        false => forget(controller, key),
    }
}

/// Removes the series of an object.
pub fn forget(controller: &'static str, key: &Key) {
    ObjectMetrics { controller, key }.unset(STALLED);
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::metrics::objects;
    use crate::status::conditions::Summary;

    #[test]
    fn only_stalled_objects_have_a_series() {
        let contract = |summary: Summary| Contract {
            conditions: summary.conditions(api::Reason::reported("Reason"), "why", Timestamp::UNIX_EPOCH),
            ..Contract::default()
        };
        let reported = || {
            let mut text = String::new();
            objects::append(&mut text);
            text.lines()
                .filter(|line| line.starts_with("multi_operator_stalled{"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (one, other) = (Key::new("n", "one"), Key::new("n", "other"));
        record("a", &one, &contract(Summary::Stalled));
        record("b", &one, &contract(Summary::Stalled));
        record("a", &other, &contract(Summary::Reconciling));
        let line = |controller| {
            format!("multi_operator_stalled{{namespace=\"n\",name=\"one\",controller=\"{controller}\"}} 1")
        };
        assert_eq!(reported(), [line("a"), line("b")]);
        record("a", &one, &contract(Summary::Ready));
        assert_eq!(reported(), [line("b")]);
        objects::forget("b", &one);
        assert_eq!(reported(), Vec::<String>::new());
    }
}
