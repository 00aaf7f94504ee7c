//! Observe as production runs it, over the stores and the queries of a model.

use std::sync::Arc;

use futures::FutureExt;
use jiff::Timestamp;
use my_app::plan::Observed;
use my_app::{MyApp, MyAppOperator, Queries};

/// What the operator observes of `app` at `now`.
pub fn observe(operator: &MyAppOperator, app: &Arc<MyApp>, queries: &impl Queries, now: Timestamp) -> Observed {
    operator.observe_with(app, queries, now).now_or_never().expect("a model answers at once")
}
