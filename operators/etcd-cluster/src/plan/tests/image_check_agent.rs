//! A pod checks the agent's image before the first member gets it.

use super::image_check::{outcome, rolling, trying, trying_both, with_another_agent};
use super::members::{NAMES, after, three};
use super::*;

#[test]
fn no_pod_is_replaced_while_the_agents_image_cannot_be_pulled() {
    let seen = with_another_agent();
    assert_eq!(outcome(&seen), (vec!["create c-pull".to_owned()], "PullingImage".to_owned()));
    let pod = after(&seen, 60).effects.into_iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create.body),
        _ => None,
    });
    let agent = &pod.unwrap()["spec"]["initContainers"][0];
    assert_eq!((&agent["image"], &agent["command"]), (&json!("agent:2"), &json!(["/agent", "--version"])));
    let waits = |reason: &str| json!({ "waiting": { "reason": reason, "message": "no such image" } });
    let ended = |code: i32| json!({ "terminated": { "exitCode": code, "reason": "Error" } });
    let (pulling, later) = (waits("ContainerCreating"), waits("PodInitializing"));
    assert_eq!(outcome(&trying_both(&pulling, &later)), (vec![], "PullingImage".to_owned()));
    for useless in [waits("ImagePullBackOff"), ended(1)] {
        let seen = trying_both(&useless, &later);
        assert_eq!(outcome(&seen), (vec![], "ImageUnavailable".to_owned()), "{useless}");
        let status = after(&seen, 60).status.unwrap();
        let message = &status.contract.condition("Ready").unwrap().message;
        assert!(
            message.contains("image agent:2 cannot be used") && message.contains("spec.pod.imagePullSecrets"),
            "{message}"
        );
    }
    let seen = trying_both(&ended(0), &waits("ImagePullBackOff"));
    let status = after(&seen, 60).status.unwrap();
    let message = &status.contract.condition("Ready").unwrap().message;
    assert!(message.contains("correct or revert spec.version"), "of etcd's image: {message}");
    assert_eq!(outcome(&trying_both(&ended(0), &ended(0))).0, [format!("delete {}", NAMES[1])]);
}

/// As the message recommends.
#[test]
fn a_new_pull_secret_repeats_the_check() {
    let mut seen = trying_both(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), &json!({ "waiting": {} }));
    let pods = json!({ "labels": { "team": "a" }, "imagePullSecrets": [{ "name": "pull" }] });
    seen.cluster = three(&json!({ "size": 3, "pod": pods })).cluster;
    assert_eq!(outcome(&seen).0, ["delete c-pull"], "it was created without the Secret");
}

#[test]
fn the_agents_image_is_checked_if_no_member_has_it_and_one_is_to_get_it() {
    let mut seen = with_another_agent();
    let running = Arc::get_mut(&mut seen.pods[0]).unwrap().details.as_mut().unwrap();
    running.containers[0].image = "agent:2".into();
    assert_eq!(outcome(&seen).0, [format!("delete {}", NAMES[1])], "one has it");

    let mut seen = rolling();
    seen.agent_image = "agent:2".into();
    let pod = after(&seen, 60).effects.into_iter().find_map(|effect| match effect {
        Effect::Create(create) => Some(create.body),
        _ => None,
    });
    assert!(pod.unwrap()["spec"]["initContainers"].is_null(), "pods stay, and so does the agent in them");

    let mut seen = with_another_agent();
    seen.image_check =
        trying("quay.io/coreos/etcd:v3.6.16", &json!({ "terminated": { "exitCode": 0, "reason": "Completed" } }))
            .image_check;
    assert_eq!(outcome(&seen).0, ["delete c-pull"], "it says nothing of the agent");
    let mut seen = trying_both(&json!({ "waiting": { "reason": "ImagePullBackOff" } }), &json!({ "waiting": {} }));
    seen.cluster = three(&json!({ "size": 3 })).cluster;
    assert_eq!(outcome(&seen).0, ["delete c-pull"], "the change is taken back");
}
