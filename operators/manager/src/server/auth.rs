//! Who may read metrics, by the API server: a TokenReview authenticates a bearer token, and a SubjectAccessReview reports whether its
//! user may GET the URL `/metrics`. Results are cached for 60 s by a hash of the token; the token itself is not stored.

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

/// How long a result is cached.
const REVIEW_TTL: Duration = Duration::from_secs(60);
/// The largest number of cached results. Beyond it, the oldest is removed, so that invented tokens cannot fill the memory.
const MAX_CACHED_REVIEWS: usize = 128;

/// Why a scrape is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AuthDenial {
    /// No token, or one that the API server does not authenticate.
    Unauthorized,
    /// This user may not read metrics.
    Forbidden(String),
    /// The review failed: a message.
    Unknown(String),
}

impl AuthDenial {
    /// The response, with what to do.
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

/// Has the API server review tokens.
pub(super) struct Authorizer {
    client: Client,
    cache: Mutex<ReviewCache>,
}

impl Authorizer {
    pub(super) fn new(client: Client) -> Self {
        Self { client, cache: Mutex::default() }
    }

    /// Whether the sender of these headers may read metrics.
    pub(super) async fn authorize(&self, headers: &HeaderMap) -> Result<(), AuthDenial> {
        let token = bearer(headers).ok_or(AuthDenial::Unauthorized)?;
        let Some(hash) = hash(token) else { return self.review(token).await };
        let known = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&hash, Instant::now());
        if let Some(answer) = known {
            return answer;
        }
        let answer = self.review(token).await;
        if !matches!(answer, Err(AuthDenial::Unknown(_))) {
            self.cache.lock().unwrap_or_else(PoisonError::into_inner).put(hash, answer.clone(), Instant::now());
        }
        answer
    }

    async fn review(&self, token: &str) -> Result<(), AuthDenial> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), audiences: None },
            ..TokenReview::default()
        };
        let reviewed = Api::all(self.client.clone()).create(&PostParams::default(), &review).await;
        let status = reviewed.map_err(|error| unknown("tokenreviews", &error))?.status.unwrap_or_default();
        if status.authenticated != Some(true) {
            return Err(AuthDenial::Unauthorized);
        }
        let user = status.user.unwrap_or_default();
        let name = user.username.clone().unwrap_or_default();
        let reviewed = Api::all(self.client.clone()).create(&PostParams::default(), &access_review(user)).await;
        let reviewed = reviewed.map_err(|error| unknown("subjectaccessreviews", &error))?;
        if reviewed.status.is_some_and(|status| status.allowed) { Ok(()) } else { Err(AuthDenial::Forbidden(name)) }
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

fn unknown(resource: &str, error: &kube::Error) -> AuthDenial {
    AuthDenial::Unknown(match error {
        kube::Error::Api(status) if status.code == 403 => format!(
            "cannot authorize: the manager lacks permission to create {resource}; bind the ClusterRole system:auth-delegator to \
             its service account, or serve metrics over HTTP with --metrics-secure=false \
             --metrics-bind-address=127.0.0.1:8080"
        ),
        _ => format!("cannot authorize: the API server did not answer a request to create {resource}; try again"),
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && !token.contains(' ')).then_some(token)
}

type TokenHash = [u8; 32];

/// SHA-256, from the TLS library, which the manager links anyway.
fn hash(token: &str) -> Option<TokenHash> {
    let sha256 = TLS13_AES_128_GCM_SHA256.tls13()?.common.hash_provider;
    sha256.hash(token.as_bytes()).as_ref().try_into().ok()
}

#[derive(Default)]
struct ReviewCache(HashMap<TokenHash, (Instant, Result<(), AuthDenial>)>);

impl ReviewCache {
    fn get(&self, hash: &TokenHash, now: Instant) -> Option<Result<(), AuthDenial>> {
        let (since, answer) = self.0.get(hash)?;
        (now.saturating_duration_since(*since) < REVIEW_TTL).then(|| answer.clone())
    }

    fn put(&mut self, hash: TokenHash, answer: Result<(), AuthDenial>, now: Instant) {
        if self.0.len() >= MAX_CACHED_REVIEWS {
            self.0.retain(|_, (since, _)| now.saturating_duration_since(*since) < REVIEW_TTL);
        }
        if self.0.len() >= MAX_CACHED_REVIEWS {
            let oldest = self.0.iter().min_by_key(|(_, (since, _))| *since).map(|(hash, _)| *hash);
            oldest.and_then(|hash| self.0.remove(&hash));
        }
        self.0.insert(hash, (now, answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(token: &str) -> TokenHash {
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
    fn tokens_are_hashed_by_sha_256() {
        let hex: String = key("abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn results_are_cached_for_a_minute() {
        let (mut reviews, start) = (ReviewCache::default(), Instant::now());
        reviews.put(key("a"), Ok(()), start);
        reviews.put(key("b"), Err(AuthDenial::Unauthorized), start);
        assert_eq!(reviews.get(&key("a"), start + Duration::from_secs(59)), Some(Ok(())));
        assert_eq!(reviews.get(&key("b"), start), Some(Err(AuthDenial::Unauthorized)));
        assert_eq!(reviews.get(&key("a"), start + REVIEW_TTL), None);
        assert_eq!(reviews.get(&key("c"), start), None);
    }

    #[test]
    fn the_cache_is_bounded_and_removes_the_oldest_results() {
        let (mut reviews, start) = (ReviewCache::default(), Instant::now());
        for second in 0..1000 {
            reviews.put(key(&second.to_string()), Err(AuthDenial::Unauthorized), start + Duration::from_millis(second));
        }
        assert_eq!(reviews.0.len(), MAX_CACHED_REVIEWS);
        let now = start + Duration::from_secs(1);
        assert!(reviews.get(&key("999"), now).is_some() && reviews.get(&key("1"), now).is_none());
    }

    #[test]
    fn denials_have_the_status_and_the_remedy() {
        let status = |denial: AuthDenial| denial.into_response().status().as_u16();
        assert_eq!(status(AuthDenial::Unauthorized), 401);
        assert_eq!(status(AuthDenial::Forbidden("x".into())), 403);
        let refused = kube::core::Status::failure("no", "Forbidden").with_code(403);
        let denial = unknown("tokenreviews", &kube::Error::Api(Box::new(refused)));
        assert!(matches!(&denial, AuthDenial::Unknown(why) if why.contains("--metrics-secure=false")), "{denial:?}");
        assert_eq!(status(denial), 503);
    }
}
