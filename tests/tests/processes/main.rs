//! Behaviors of the manager as processes of this host, against the cluster of `KUBECONFIG`, with injected faults. One file per
//! behavior; all run side by side, each with a namespace, a service account and a Lease of its own.
//!
//! The harness is our own (it reads the same flags and prints the same lines), because a manager deployed in the cluster would
//! act on the same objects, so it is scaled to 0 for the run; and because the permissions that all tests together have used are
//! counted at the end.

use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, FormatSetting, Trial};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::RwLock;

mod deployed;
mod stage;

mod blind;
mod conformance;
mod contested;
mod crash;
mod errors;
mod etcd_operator;
mod events;
mod flags;
mod foreign_crd;
mod half_open;
mod idle;
mod leadership;
mod metrics;
mod missing_kind;
mod outage;
mod overrides;
mod permissions;
mod permissions_missing;
mod permissions_restart_on;
mod public;
mod traces;
mod two_installs;
mod undecodable;

use stage::{Failure, Stage};

/// Tests at a time. Most of a test's time is waiting for timers; but with more managers that start at once, requests to the API
/// server take longer than a Lease on two cores that carry other suites, too.
const AT_A_TIME: usize = 10;

/// Whether what happens is reported as JSON, for scripts/test.
static EVENTS: LazyLock<bool> = LazyLock::new(|| Arguments::from_args().format == Some(FormatSetting::Json));

macro_rules! trials {
    ($handle:expr, $($module:ident :: $test:ident),+ $(,)?) => {
        vec![$(trial($handle, concat!(stringify!($module), "::", stringify!($test)), $module::$test)),+]
    };
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_A_TIME);
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.into()),
    };
    // The longest first, since all of them overlap.
    let mut trials = trials!(
        runtime.handle(),
        errors::a_refused_child_costs_few_requests,
        outage::that_closes_connections,
        outage::that_says_nothing,
        outage::behind_a_load_balancer,
        outage::of_4_s_that_says_nothing,
        leadership::a_standby_watches_again_after_a_silence_of_4_s,
        permissions_restart_on::each_object_is_read_once_a_minute_and_a_missing_permission_is_reported,
        idle::converged_objects_cause_no_request_for_a_minute,
        conformance::the_api_server_in_memory_answers_as_the_real_one,
        half_open::a_change_behind_half_open_watches_is_acted_on_within_60_s,
        half_open::when_every_connection_hangs_the_work_goes_on_within_60_s,
        two_installs::the_second_takes_over_when_the_first_is_killed,
        two_installs::the_second_takes_over_when_the_first_is_stopped,
        leadership::a_killed_leader_is_followed_when_its_lease_ends,
        leadership::a_stilled_leader_leaves_without_writing,
        idle::a_restart_over_120_objects_writes_nothing,
        public::each_is_taken_and_rendered,
        public::a_sidecar_runs_next_to_the_application,
        blind::what_changed_meanwhile_is_noticed_when_watches_resume,
        blind::what_changed_meanwhile_is_noticed_by_relists,
        blind::late_events_of_one_kind_cause_no_storm,
        blind::a_deletion_that_is_seen_late_causes_no_storm,
        blind::orphans_of_a_deletion_that_is_seen_late_are_kept,
        crash::a_manager_killed_after_any_write_leaves_nothing_that_the_next_cannot_finish,
        two_installs::the_second_takes_over_at_once_by_flag,
        etcd_operator::old_manifests_work_and_each_scope_has_its_own,
        missing_kind::the_other_controllers_work_and_it_is_picked_up_when_served,
        permissions::a_kind_that_may_not_be_watched_stalls_its_controller_alone,
        permissions::roles_in_two_namespaces_are_enough,
        permissions_missing::it_is_reported_and_the_other_namespaces_are_not_affected,
        errors::passing_errors_are_got_over_in_few_requests,
        leadership::a_stopped_leader_is_followed_within_2_s,
        leadership::a_manager_ends_within_10_s_although_answers_do_not_come,
        events::a_repeated_event_is_counted,
        contested::another_writer_that_does_not_stop_is_reported,
        contested::another_writer_that_returns_now_and_then_is_reported,
        undecodable::it_is_reported_on_that_object_and_the_others_are_reconciled,
        undecodable::an_etcd_cluster_keeps_what_its_status_says,
        metrics::by_https_only_to_whom_the_cluster_allows_them,
        metrics::plain_by_flag_with_the_names_of_controller_runtime,
        traces::spans_of_reconciles_reach_a_collector,
        overrides::pods_are_overridden_as_far_as_the_administrator_and_pod_security_let_them,
        flags::invalid_flags_end_the_manager_with_a_message,
        flags::help_names_the_environment_variable_of_every_flag,
        flags::one_controller_watches_its_own_kinds_only,
    );
    // The last to be begun, so that nothing waits for its end.
    trials.push(trial_alone(
        runtime.handle(),
        "foreign_crd::it_is_reported_and_reconciles_continue_until_the_own_crd_is_back",
        foreign_crd::it_is_reported_and_reconciles_continue_until_the_own_crd_is_back,
    ));
    let long = trials!(
        runtime.handle(),
        outage::of_10_s_however,
        outage::that_refuses_connections_for_60_s,
        outage::that_resets_connections_for_60_s,
        outage::that_answers_after_15_s_for_60_s,
        outage::that_closes_connections_for_330_s,
        outage::that_says_nothing_for_330_s,
        outage::behind_a_load_balancer_for_330_s,
        outage::that_closes_connections_for_30_minutes,
        outage::that_says_nothing_for_30_minutes,
    );
    let whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.ignored;
    // The part `outages` of scripts/test --all runs these.
    let long = long.into_iter().map(|trial| trial.with_ignored_flag(true));
    let trials = trials.into_iter().chain(long).collect();
    if arguments.list {
        libtest_mimic::run(&arguments, trials).exit();
    }
    let before = match runtime.block_on(deployed::make_way()) {
        Ok(before) => before,
        Err(error) => return fail(&error),
    };
    let begun = Instant::now();
    let conclusion = libtest_mimic::run(&arguments, trials);
    println!(
        "processes: {} passed, {} failed, in {:.1?}",
        conclusion.num_passed,
        conclusion.num_failed,
        begun.elapsed()
    );
    let used =
        if whole && !conclusion.has_failed() { permissions::used_over_the_run(before.audit.as_ref()) } else { Ok(()) };
    if !conclusion.has_failed() {
        // Only failures are analyzed.
        drop(std::fs::remove_dir_all(stage::logs()));
    }
    let restored = runtime.block_on(deployed::make_good(&before));
    if let Err(error) = used.and(restored) {
        return fail(&error);
    }
    conclusion.exit_code()
}

fn fail(error: &Failure) -> ExitCode {
    eprintln!("processes: {error}");
    ExitCode::FAILURE
}

/// Held by every test while it runs, for one that changes what all use.
static TOGETHER: RwLock<()> = RwLock::const_new(());

/// A test in a namespace of its own.
fn trial<F>(handle: &Handle, name: &str, test: fn(Stage) -> F) -> Trial
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    held(handle, name, test, async || TOGETHER.read().await)
}

/// One during which no other runs.
fn trial_alone<F>(handle: &Handle, name: &str, test: fn(Stage) -> F) -> Trial
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    held(handle, name, test, async || TOGETHER.write().await)
}

fn held<F, G>(
    handle: &Handle,
    name: &str,
    test: fn(Stage) -> F,
    hold: impl AsyncFnOnce() -> G + Send + 'static,
) -> Trial
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let (handle, purpose) = (handle.clone(), name.split("::").next().unwrap_or_default().replace('_', "-"));
    let full_name = name.to_owned();
    Trial::test(name, move || {
        let _held = handle.block_on(hold());
        let begun = Instant::now();
        // The harness itself reports the start of a test together with its result.
        if *EVENTS {
            println!(r#"{{ "type": "test", "event": "started", "name": "{full_name}" }}"#);
        }
        let result = handle.block_on(async {
            let stage = Stage::new(&purpose).await?;
            let scene = stage.clone();
            let result = test(stage).await;
            match result {
                Ok(()) => scene.clear().await,
                Err(error) => Err(format!("{error}\n(namespace {}, logs in {})", scene.name, stage::logs()).into()),
            }
        });
        result.map_err(|error: Failure| Failed::from(format!("after {:.1?}: {error}", begun.elapsed())))
    })
}
