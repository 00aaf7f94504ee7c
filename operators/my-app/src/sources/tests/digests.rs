//! Which objects are read, and what the digest distinguishes.

use super::*;

#[tokio::test]
async fn the_order_of_names_and_repeated_names_do_not_change_the_digest() {
    let digest = async |on: Value| {
        let answers = FakeApiServer::new(|requested| match requested.ends_with("settings") {
            true => (200, map(1, &json!({ "a": "1" }))),
            false => (200, secret("s", "YQ==")),
        });
        let digest = SourceReader::new(answers.client()).query(&app("web", &on)).await.digest.expect("a digest");
        (digest, answers.requests().len())
    };
    let settings = json!({ "configMapRef": { "name": "settings" } });
    let keys = json!({ "secretRef": { "name": "keys" } });
    let both = digest(json!([settings, keys])).await;
    assert_eq!(both.1, 2);
    assert_eq!(digest(json!([keys, settings])).await, both);
    assert_eq!(digest(json!([settings, keys, settings])).await, both);
    assert_ne!(digest(json!([settings])).await, both);
}

#[test]
fn an_object_given_twice_is_optional_only_if_it_is_so_both_times() {
    let of = |optional: [bool; 2]| {
        let on = optional.map(|optional| json!({ "configMapRef": { "name": "settings", "optional": optional } }));
        sources(&app("web", &json!(on))).into_values().collect::<Vec<_>>()
    };
    assert_eq!([[true, true], [true, false], [false, true]].map(of), [vec![true], vec![false], vec![false]]);
}

#[test]
fn an_object_without_an_answer_is_read_again_soon_and_then_at_the_usual_interval() {
    let seconds = Duration::from_secs;
    for (since, judged_now) in
        [(0, SourceState::Awaited), (7, SourceState::Awaited), (8, SourceState::Unknown), (600, SourceState::Unknown)]
    {
        let (found, pause) = rated(SourceState::Awaited, seconds(since), 1);
        assert_eq!(
            (&found, pause),
            (&judged_now, if judged_now == SourceState::Awaited { RETRY_INTERVAL } else { READ_INTERVAL })
        );
    }
    assert_eq!(rated(SourceState::Missing, seconds(1), 1), (SourceState::Missing, READ_INTERVAL));
    assert_eq!(rated(SourceState::Content([0; 32]), seconds(1), 2).1, READ_INTERVAL * 2);
}

#[tokio::test]
async fn digests_of_equal_secrets_differ() {
    let digest = async |uid: &'static str, text: &'static str| {
        let answers = FakeApiServer::new(move |_| (200, secret(uid, text)));
        let on = json!([{ "secretRef": { "name": "keys" } }]);
        SourceReader::new(answers.client()).query(&app("web", &on)).await.digest.expect("a digest")
    };
    assert_eq!(digest("s", "YQ==").await, digest("s", "YQ==").await);
    assert_ne!(digest("s", "YQ==").await, digest("s", "Yg==").await);
    assert_ne!(digest("s", "YQ==").await, digest("t", "YQ==").await);
}

#[tokio::test]
async fn an_app_that_names_nothing_sends_no_requests() {
    let answers = FakeApiServer::new(|_| (500, status(500, "no")));
    let contents = SourceReader::new(answers.client()).query(&app("web", &json!([]))).await;
    assert!(contents.digest.is_none() && contents.due.is_none() && answers.requests().is_empty());
}

#[test]
fn entries_and_their_values_are_distinguished() {
    let of = |entries: &[(&str, &str)]| {
        digest("", entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect())
    };
    assert_ne!(of(&[("a", "bc")]), of(&[("ab", "c")]));
    assert_ne!(of(&[("a", "1"), ("b", "2")]), of(&[("a", "1b2")]));
    assert_ne!(of(&[]), of(&[("", "")]));
}

/// As in a MyApp that is older than the pattern in its CRD.
#[tokio::test]
async fn an_invalid_name_is_part_of_no_request() {
    for name in ["my settings", "settings#x", "settings?x", "?x", "../../../other/configmaps/x", ".."] {
        for reference in ["configMapRef", "secretRef"] {
            let answers = FakeApiServer::new(|_| (200, map(1, &json!({ "a": "1" }))));
            let sources = SourceReader::new(answers.client());
            let contents = sources.query(&app("web", &json!([{ reference: { "name": name } }]))).await;
            let (reported, why) = contents.failure.expect("a failure");
            assert_eq!((contents.digest, reported, contents.unread), (None, missing(), None), "{name}");
            assert!(why.contains(&format!("{name}: invalid name; use a DNS subdomain")), "{why}");
            let optional = json!([{ reference: { "name": name, "optional": true } }]);
            assert!(sources.query(&app("web", &optional)).await.digest.is_some(), "{name} may be missing");
            assert_eq!(answers.requests(), [""; 0], "{name}");
        }
    }
}
