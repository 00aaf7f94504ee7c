//! What the status says of a MyApp holds at the instant that it is written: in random runs, with stores that are behind, each
//! status with Ready=True or Stalled=True is judged from the objects as the stores had been told of them, and as the pass itself
//! has written them, by rules that know nothing of the plan.

mod judge;
mod site;

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use site::{Site, Step, spec, step};

/// So many samples by default. With `PROPTEST_CASES`, as in `scripts/test --all schedules`, [`THOROUGH`].
const USUAL: usize = 1_000;
const THOROUGH: usize = 10_000;

/// By this name `scripts/test --all schedules` finds it.
mod properties {
    use super::*;

    #[test]
    fn what_is_said_holds_when_it_is_said() {
        let wanted = if seed::is_thorough() { THOROUGH } else { USUAL };
        drop(seed::rng!());
        let mut runner = seed::runner_of(seed::seed());
        let (mut samples, mut runs) = (BTreeMap::<String, usize>::new(), 0);
        while samples.values().sum::<usize>() < wanted {
            let run =
                (spec(), prop::collection::vec(step(), 10..60)).new_tree(&mut runner).expect("steps can be drawn");
            let (spec, steps) = run.current();
            let mut site = Site::new(&spec);
            for (at, step) in steps.iter().enumerate() {
                let Some(sample) = site.take(step.clone()) else { continue };
                match judge::judge(&sample) {
                    Ok(reason) => *samples.entry(reason).or_default() += 1,
                    Err(why) => panic!("{why}\nrun {runs}, after\n{:#?}\nof {spec}", &steps[..=at]),
                }
            }
            runs += 1;
        }
        println!("{} statuses sampled in {runs} runs, 0 false: {samples:?}", samples.values().sum::<usize>());
        for often in ["Running", "ScaledToZero", "ImagePullBackOff", "CrashLoopBackOff", "FailedCreate", "RolledBack"] {
            assert!(
                samples.get(often).is_some_and(|count| *count >= wanted / 500),
                "{often} is hardly sampled: {samples:?}"
            );
        }
    }
}

/// The judge is no yes-man: each of these was never so.
#[test]
fn a_false_word_is_found() {
    let mut site = Site::new(&serde_json::json!({ "image": "app:1", "replicas": 1 }));
    let mut last = None;
    for step in
        [Step::see_all(), Step::Look { refused: false }, Step::ready(0), Step::Look { refused: false }, Step::see_all()]
    {
        if let Some(sample) = site.take(step) {
            last = Some(sample);
        }
    }
    let sample = last.expect("it ran");
    assert_eq!(judge::judge(&sample).as_deref(), Ok("Running"));
    let spoilt = |pointer: &str, value: serde_json::Value| {
        let mut spoilt = sample.clone();
        let place = spoilt.deployment.as_mut().and_then(|live| live.pointer_mut(pointer)).expect("it is there");
        *place = value;
        judge::judge(&spoilt)
    };
    spoilt("/status/readyReplicas", 0.into()).unwrap_err();
    spoilt("/status/observedGeneration", 0.into()).unwrap_err();
    spoilt("/spec/template/spec/containers/0/image", "app:2".into()).unwrap_err();
    let mut older = sample.clone();
    older.app["metadata"]["generation"] = 9.into();
    judge::judge(&older).unwrap_err();
    let mut stalled = sample;
    stalled.status["conditions"] = serde_json::json!([
        { "type": "Ready", "status": "False", "reason": "ImagePullBackOff", "observedGeneration": 1 },
        { "type": "Stalled", "status": "True", "reason": "ImagePullBackOff", "observedGeneration": 1 },
    ]);
    judge::judge(&stalled).unwrap_err();
}
