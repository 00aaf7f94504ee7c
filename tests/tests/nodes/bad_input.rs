//! What `scripts/cluster` rejects, with a message; and what it does only once, however often it is called.

use crate::stage::{act, first, name, on_cluster, scripts_cluster, second, third};

/// The one line that a command says, other than that it waits for another test's.
fn sentence(said: &str) -> &str {
    let lines: Vec<_> = said.lines().filter(|line| !line.contains("another scripts/cluster is at work")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0]
}

#[tokio::test]
async fn impossible_actions_are_rejected_with_one_message() {
    let first = first();
    let nodes = format!("its nodes are {first} {first}-2 {first}-3");
    let cases: &[(&[&str], &str)] = &[
        (&["node"], "node takes the name of a node, and what to do"),
        (&["node", &first], "node takes the name of a node, and what to do"),
        (&["node", &first, "stop", "now"], "node takes the name of a node, and what to do"),
        (
            &["node", &first, "explode"],
            "unknown action 'explode' of a node: it is stop, start, isolate, rejoin or delete",
        ),
        (&["node", "nowhere", "stop"], "has no node 'nowhere'"),
        (&["node", "nowhere", "stop"], &nodes),
        (&["node", "", "stop"], "has no node ''"),
        (&["node", &first, "stop"], "holds the control plane and cannot be stopped: take another one"),
        (&["node", &first, "isolate"], "holds the control plane and cannot be isolated: take another one"),
        (&["node", &first, "delete"], "holds the control plane and cannot be deleted: take another one"),
        (&["up", "--nodes", "0"], "--nodes '0' is not a number from 1 to 9"),
        (&["up", "--nodes", "10"], "--nodes '10' is not a number from 1 to 9"),
        (&["up", "--nodes", "three"], "--nodes 'three' is not a number from 1 to 9"),
        (&["up", "--nodes=-1"], "--nodes '-1' is not a number from 1 to 9"),
        (&["up", "--nodes", "2"], "is there with nodes=3, not 2: run 'scripts/cluster down"),
        (&["down", "--nodes", "3"], "--nodes belongs to up"),
    ];
    for (arguments, expected) in cases {
        let refused = scripts_cluster(arguments).await.refused();
        assert!(sentence(&refused).contains(expected), "{arguments:?}: {refused}");
    }
    let absent = format!("{}-absent", name());
    let refused = on_cluster(&absent, &["node", &first, "stop"]).await.refused();
    assert!(sentence(&refused).contains(&format!("cluster {absent} is not there: scripts/cluster up")), "{refused}");
    let refused = on_cluster(&absent, &["up", "--profile", "control-plane", "--nodes", "3"]).await.refused();
    assert!(sentence(&refused).contains("--nodes is for the full profile"), "{refused}");
}

#[tokio::test]
async fn actions_can_be_repeated_and_say_what_has_to_come_first() {
    let turn = second().await;
    let node = turn.node.as_str();
    // Each action, whether it is taken, and what is said of it.
    let course = [
        ("start", true, "is running already"),
        ("rejoin", true, "is not isolated: nothing to do"),
        ("stop", true, "is stopped after"),
        ("stop", true, "is stopped already"),
        ("isolate", false, "is stopped: 'scripts/cluster node"),
        ("rejoin", false, "is stopped: 'scripts/cluster node"),
        ("start", true, "is started after"),
        ("isolate", true, "is isolated after"),
        ("isolate", true, "is isolated already"),
        ("start", false, "is isolated: 'scripts/cluster node"),
        ("stop", true, "is stopped after"),
        ("start", true, "is started after"),
        ("isolate", true, "is isolated after"),
        ("rejoin", true, "is rejoined after"),
    ];
    for (action, taken, expected) in course {
        let answer = act(node, action).await;
        assert_eq!(answer.success, taken, "{action}: {}", answer.stderr);
        let said = sentence(&answer.stderr);
        assert!(said.contains(node) && said.contains(expected), "{action}: {said}");
    }
}

#[tokio::test]
async fn up_brings_back_what_was_stopped_and_isolated() {
    let (second, third) = (second().await, third().await);
    drop(act(&second.node, "stop").await.ok());
    drop(act(&third.node, "isolate").await.ok());
    let status = scripts_cluster(&["status"]).await;
    assert!(!status.success, "not all is healthy:\n{}", status.stdout);
    for (node, state) in [(&second.node, "stopped"), (&third.node, "isolated")] {
        let line = status.stdout.lines().find(|line| line.starts_with(&format!("node {node} ")));
        assert!(line.is_some_and(|line| line.contains(state)), "{node} is {state}:\n{}", status.stdout);
    }
    drop(scripts_cluster(&["up"]).await.ok());
    drop(scripts_cluster(&["status"]).await.ok());
}
