//! Who may read metrics: the API server knows. TokenReview says who a bearer token is, SubjectAccessReview whether they
//! may GET the URL `/metrics`. Answers are kept for 60 s by a hash of the token; the token itself is kept nowhere.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;

use super::response::respond;

const KEPT: Duration = Duration::from_secs(60);
/// Answers kept at most; a flood of made-up tokens pushes out the oldest.
const KEPT_ANSWERS: usize = 128;

/// Why a scrape is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Denial {
    /// No token, or one that the API server does not know.
    Unauthorized,
    /// The user may not read metrics.
    Forbidden(String),
    /// It cannot be told, for this reason.
    Unknown(String),
}

impl Denial {
    /// The answer, with what to do about it.
    pub(super) fn into_response(self) -> Response<String> {
        match self {
            Self::Unauthorized => {
                let mut response = respond(
                    StatusCode::UNAUTHORIZED,
                    "send a token of this cluster: Authorization: Bearer TOKEN\n".into(),
                );
                response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
                response
            }
            Self::Forbidden(user) => respond(
                StatusCode::FORBIDDEN,
                format!("{user} may not read metrics: grant it get on the nonResourceURL /metrics\n"),
            ),
            Self::Unknown(why) => respond(StatusCode::SERVICE_UNAVAILABLE, why + "\n"),
        }
    }
}

/// Asks the API server about tokens.
pub(super) struct Guard {
    client: Client,
    answers: Mutex<Answers>,
}

impl Guard {
    pub(super) fn new(client: Client) -> Self {
        Self { client, answers: Mutex::default() }
    }

    /// Whether the sender of these headers may read metrics.
    pub(super) async fn admit(&self, headers: &HeaderMap) -> Result<(), Denial> {
        let token = bearer(headers).ok_or(Denial::Unauthorized)?;
        let Some(hash) = hash(token) else { return self.ask(token).await };
        let known = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&hash, Instant::now());
        if let Some(answer) = known {
            return answer;
        }
        let answer = self.ask(token).await;
        if !matches!(answer, Err(Denial::Unknown(_))) {
            self.answers.lock().unwrap_or_else(PoisonError::into_inner).put(hash, answer.clone(), Instant::now());
        }
        answer
    }

    async fn ask(&self, token: &str) -> Result<(), Denial> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), audiences: None },
            ..TokenReview::default()
        };
        let reviewed = Api::all(self.client.clone()).create(&PostParams::default(), &review).await;
        let status = reviewed.map_err(|error| unknown("tokenreviews", &error))?.status.unwrap_or_default();
        if status.authenticated != Some(true) {
            return Err(Denial::Unauthorized);
        }
        let user = status.user.unwrap_or_default();
        let name = user.username.clone().unwrap_or_default();
        let reviewed = Api::all(self.client.clone()).create(&PostParams::default(), &access_review(user)).await;
        let reviewed = reviewed.map_err(|error| unknown("subjectaccessreviews", &error))?;
        if reviewed.status.is_some_and(|status| status.allowed) { Ok(()) } else { Err(Denial::Forbidden(name)) }
    }
}

fn access_review(user: UserInfo) -> SubjectAccessReview {
    let metrics = NonResourceAttributes { path: Some("/metrics".to_owned()), verb: Some("get".to_owned()) };
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
            non_resource_attributes: Some(metrics),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

fn unknown(resource: &str, error: &kube::Error) -> Denial {
    Denial::Unknown(match error {
        kube::Error::Api(status) if status.code == 403 => format!(
            "this manager may not create {resource}, so it cannot tell who may read metrics: bind the ClusterRole \
             system:auth-delegator to it, or serve plainly with --metrics-secure=false \
             --metrics-bind-address=127.0.0.1:8080"
        ),
        _ => format!("the API server did not answer about {resource}; try again"),
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ')).then_some(token)
}

type Hash = [u8; 32];

/// SHA-256, out of the TLS library that is here anyway.
fn hash(token: &str) -> Option<Hash> {
    let sha256 = TLS13_AES_128_GCM_SHA256.tls13()?.common.hash_provider;
    sha256.hash(token.as_bytes()).as_ref().try_into().ok()
}

#[derive(Default)]
struct Answers(HashMap<Hash, (Instant, Result<(), Denial>)>);

impl Answers {
    fn get(&self, hash: &Hash, now: Instant) -> Option<Result<(), Denial>> {
        let (asked, answer) = self.0.get(hash)?;
        (now.saturating_duration_since(*asked) < KEPT).then(|| answer.clone())
    }

    fn put(&mut self, hash: Hash, answer: Result<(), Denial>, now: Instant) {
        if self.0.len() >= KEPT_ANSWERS {
            self.0.retain(|_, (asked, _)| now.saturating_duration_since(*asked) < KEPT);
        }
        if self.0.len() >= KEPT_ANSWERS {
            let oldest = self.0.iter().min_by_key(|(_, (asked, _))| *asked).map(|(hash, _)| *hash);
            oldest.and_then(|hash| self.0.remove(&hash));
        }
        self.0.insert(hash, (now, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(token: &str) -> Hash {
        hash(token).unwrap()
    }

    fn headers(value: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_bearer_tokens_count() {
        assert_eq!(bearer(&headers("Bearer abc.def")), Some("abc.def"));
        assert_eq!(bearer(&headers("bearer  abc")), Some("abc"));
        for junk in ["Basic abc", "Bearer", "Bearer ", "Bearer a b", "abc"] {
            assert_eq!(bearer(&headers(junk)), None, "{junk}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn tokens_are_told_apart_by_their_sha_256() {
        let hex: String = key("abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn answers_last_a_minute() {
        let (mut answers, start) = (Answers::default(), Instant::now());
        answers.put(key("a"), Ok(()), start);
        answers.put(key("b"), Err(Denial::Unauthorized), start);
        assert_eq!(answers.get(&key("a"), start + Duration::from_secs(59)), Some(Ok(())));
        assert_eq!(answers.get(&key("b"), start), Some(Err(Denial::Unauthorized)));
        assert_eq!(answers.get(&key("a"), start + KEPT), None);
        assert_eq!(answers.get(&key("c"), start), None);
    }

    #[test]
    fn a_flood_of_tokens_is_bounded_and_pushes_out_the_oldest() {
        let (mut answers, start) = (Answers::default(), Instant::now());
        for second in 0..1000 {
            answers.put(key(&second.to_string()), Err(Denial::Unauthorized), start + Duration::from_millis(second));
        }
        assert_eq!(answers.0.len(), KEPT_ANSWERS);
        let now = start + Duration::from_secs(1);
        assert!(answers.get(&key("999"), now).is_some() && answers.get(&key("1"), now).is_none());
    }

    #[test]
    fn denials_say_what_to_do() {
        let status = |denial: Denial| denial.into_response().status().as_u16();
        assert_eq!(status(Denial::Unauthorized), 401);
        assert_eq!(status(Denial::Forbidden("x".into())), 403);
        let refused = kube::core::Status::failure("no", "Forbidden").with_code(403);
        let denial = unknown("tokenreviews", &kube::Error::Api(Box::new(refused)));
        assert!(matches!(&denial, Denial::Unknown(why) if why.contains("--metrics-secure=false")), "{denial:?}");
        assert_eq!(status(denial), 503);
    }
}
