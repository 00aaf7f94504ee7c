//! A change of a SampleDB, through which the manager dies.

use std::time::{Duration, Instant};

use e2e::namespace::Namespace;
use e2e::patience::Deadline;
use tokio::time::sleep;

use crate::manager::Manager;

/// How long a life may take to come to its effect.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(150);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The debug text with which an effect on an object begins, up to its name.
#[derive(Clone, Copy)]
pub struct Effects<'a>(pub &'a str);

impl Effects<'_> {
    fn of(self, verb: &str, kind: &str, name: &str) -> String {
        let (group, version) = match kind {
            "StatefulSet" => ("apps", "v1"),
            "Job" => ("batch", "v1"),
            "SampleDB" | "SampleDBSnapshot" => ("example.com", "v1alpha1"),
            _ => ("", "v1"),
        };
        let plural = format!("{}s", kind.to_lowercase());
        let namespace = self.0;
        let kind = format!(r#"group: "{group}", version: "{version}", kind: "{kind}", plural: "{plural}""#);
        format!("{verb} {{ kind: ResourceKind {{ {kind} }}, key: {namespace}/{name}")
    }

    /// An apply, as an effect of the plan or independent of it.
    pub fn apply(self, kind: &str, name: &str) -> String {
        self.of("Apply", kind, &format!("{name},"))
    }

    pub fn create(self, kind: &str, name: &str) -> String {
        self.of("Create", kind, &format!("{name},"))
    }

    /// That of which the name is not known to its end.
    pub fn create_some(self, kind: &str, beginning: &str) -> String {
        self.of("Create", kind, beginning)
    }

    pub fn apply_some(self, kind: &str, beginning: &str) -> String {
        self.of("Apply", kind, beginning)
    }

    pub fn delete(self, kind: &str, name: &str) -> String {
        self.of("Delete", kind, &format!("{name},"))
    }

    pub fn act(self, act: &str) -> String {
        format!("Act({act}")
    }
}

/// Makes `change`; the manager dies after the first of the effects, is started, dies after the second, and so on; one that does
/// not die reaches the `end`. Returns how long each life took to reach its own effect.
pub async fn dying_after_each<T>(
    (ns, manager): (&Namespace, &Manager),
    effects: &[String],
    change: impl Future<Output = ()>,
    end: impl Future<Output = T>,
) -> T {
    manager.lives_until(&effects[0]).await;
    change.await;
    let (mut since, mut deadline) = (Instant::now(), Deadline::after(RECOVERY_TIMEOUT));
    for (number, effect) in effects.iter().enumerate() {
        while !manager.is_dead().await {
            if deadline.is_over() {
                let (late, log, around) = (deadline.late(), manager.log().await, ns.around().await);
                panic!("no death after `{effect}`; {late}; has it the feature failpoints?\n{log}\n{around}");
            }
            sleep(POLL_INTERVAL).await;
        }
        if number > 0 {
            went_on(&effects[number - 1], since.elapsed());
        }
        (since, deadline) = (Instant::now(), Deadline::after(RECOVERY_TIMEOUT));
        manager.lives_until(effects.get(number + 1).map_or("", String::as_str)).await;
    }
    let ended = end.await;
    went_on(&effects[effects.len() - 1], since.elapsed());
    ended
}

/// From a death to the effect after which the next life died; after the last one, to the end.
fn went_on(died_after: &str, took: Duration) {
    println!("  died after {}: the next life came to its own effect, or the end, after {took:.1?}", brief(died_after));
}

/// An effect, as a person calls it.
fn brief(effect: &str) -> String {
    let verb = effect.split(' ').next().unwrap_or_default();
    let kind = effect.split(r#" kind: ""#).nth(1).and_then(|rest| rest.split('"').next());
    let name = effect.rsplit('/').next().unwrap_or_default().trim_end_matches(',');
    kind.map_or_else(|| effect.to_owned(), |kind| format!("{verb} {kind} {name}"))
}
