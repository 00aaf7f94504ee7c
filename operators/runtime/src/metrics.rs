//! Metrics, under controller-runtime's names and labels, so that dashboards made for it work.

use std::time::Duration;

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

pub mod objects;
pub mod stalled;

/// Buckets of `controller_runtime_reconcile_time_seconds`, in seconds, as controller-runtime has them.
pub const RECONCILE_BUCKETS: [f64; 16] =
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0];
/// Buckets of the `workqueue_*_duration_seconds`, in seconds.
pub const QUEUE_BUCKETS: [f64; 10] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0];

/// Describes each metric: controller-runtime's and client-go's with the help that they have there.
pub fn describe() {
    describe_counter!("controller_runtime_reconcile_total", "Total number of reconciliations per controller");
    describe_counter!(
        "controller_runtime_reconcile_errors_total",
        "Total number of reconciliation errors per controller"
    );
    describe_counter!(
        "controller_runtime_reconcile_panics_total",
        "Total number of reconciliation panics per controller"
    );
    describe_counter!(
        "controller_runtime_reconcile_timeouts_total",
        "Total number of reconciliation timeouts per controller"
    );
    describe_histogram!(
        "controller_runtime_reconcile_time_seconds",
        "Length of time per reconciliation per controller"
    );
    describe_gauge!(
        "controller_runtime_max_concurrent_reconciles",
        "Maximum number of concurrent reconciles per controller"
    );
    describe_gauge!("controller_runtime_active_workers", "Number of currently used workers per controller");
    describe_gauge!("workqueue_depth", "Current depth of workqueue");
    describe_counter!("workqueue_adds_total", "Total number of adds handled by workqueue");
    describe_counter!("workqueue_retries_total", "Total number of retries handled by workqueue");
    describe_histogram!(
        "workqueue_queue_duration_seconds",
        "How long in seconds an item stays in workqueue before being requested"
    );
    describe_histogram!(
        "workqueue_work_duration_seconds",
        "How long in seconds processing an item from workqueue takes."
    );
    describe_counter!(
        "rest_client_requests_total",
        "Number of HTTP requests, partitioned by status code, method, and host."
    );
    describe_histogram!(
        "rest_client_request_duration_seconds",
        "Request latency in seconds. Broken down by verb, and host."
    );
    describe_gauge!(
        "leader_election_master_status",
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. \
         'name' is the string used to identify the lease. Please make sure to group by name."
    );
    describe_counter!("multi_operator_watch_errors_total", "Total number of failures to list or watch per kind");
    describe_gauge!("multi_operator_cache_objects", "Number of cached objects per kind");
    describe_gauge!("multi_operator_crd_mismatch", "1 while the CRD of a kind lacks what the manager needs, else 0");
}

/// Records the number of objects in the store of a kind.
#[expect(clippy::cast_precision_loss, reason = "no store holds 2^52 objects")]
pub fn cache_objects(kind: &'static str, count: usize) {
    gauge!("multi_operator_cache_objects", "kind" => kind).set(count as f64);
}

/// Counts a failure of a watch of that kind.
pub fn watch_error(kind: &'static str) {
    counter!("multi_operator_watch_errors_total", "kind" => kind).increment(1);
}

/// Records whether the CRD of that kind has mismatches.
pub fn crd_mismatch(kind: &'static str, has_mismatches: bool) {
    gauge!("multi_operator_crd_mismatch", "kind" => kind).set(f64::from(u8::from(has_mismatches)));
}

/// The metrics of one queue.
pub struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    waited: Histogram,
    worked: Histogram,
}

impl QueueMetrics {
    /// The metrics of the queue of that controller.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            depth: gauge!("workqueue_depth", "name" => name, "controller" => name),
            adds: counter!("workqueue_adds_total", "name" => name, "controller" => name),
            retries: counter!("workqueue_retries_total", "name" => name, "controller" => name),
            waited: histogram!("workqueue_queue_duration_seconds", "name" => name, "controller" => name),
            worked: histogram!("workqueue_work_duration_seconds", "name" => name, "controller" => name),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "no queue holds 2^52 keys")]
    pub(crate) fn added(&self, depth: usize) {
        self.adds.increment(1);
        self.depth.set(depth as f64);
    }

    #[expect(clippy::cast_precision_loss, reason = "no queue holds 2^52 keys")]
    pub(crate) fn taken(&self, depth: usize, waited: Duration) {
        self.depth.set(depth as f64);
        self.waited.record(waited.as_secs_f64());
    }

    pub(crate) fn worked(&self, took: Duration) {
        self.worked.record(took.as_secs_f64());
    }

    pub(crate) fn retried(&self) {
        self.retries.increment(1);
    }
}

/// The metrics of the reconciles of one controller.
pub struct ReconcileMetrics {
    name: &'static str,
    time: Histogram,
    active: Gauge,
}

impl ReconcileMetrics {
    /// The metrics of that controller, which runs up to `concurrency` reconciles at a time.
    #[must_use]
    pub fn new(name: &'static str, concurrency: u16) -> Self {
        gauge!("controller_runtime_max_concurrent_reconciles", "controller" => name).set(f64::from(concurrency));
        counter!("controller_runtime_reconcile_errors_total", "controller" => name).increment(0);
        counter!("controller_runtime_reconcile_panics_total", "controller" => name).increment(0);
        Self {
            name,
            time: histogram!("controller_runtime_reconcile_time_seconds", "controller" => name),
            active: gauge!("controller_runtime_active_workers", "controller" => name),
        }
    }

    pub(crate) fn begun(&self) {
        self.active.increment(1);
    }

    /// `result` is `success`, `requeue_after` or `error`.
    pub(crate) fn ended(&self, result: &'static str, took: Duration) {
        self.active.decrement(1);
        self.time.record(took.as_secs_f64());
        counter!("controller_runtime_reconcile_total", "controller" => self.name, "result" => result).increment(1);
        if result == "error" {
            counter!("controller_runtime_reconcile_errors_total", "controller" => self.name).increment(1);
        }
    }

    pub(crate) fn panicked(&self) {
        counter!("controller_runtime_reconcile_panics_total", "controller" => self.name).increment(1);
    }

    pub(crate) fn timed_out(&self) {
        counter!("controller_runtime_reconcile_timeouts_total", "controller" => self.name).increment(1);
    }
}
