//! What is read of namespaces, by name and seldom: it hardly ever changes, and a watch would need the permission to list all of
//! them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};

use crate::Error;
use crate::plan::meta::{Kind, UID_RANGE};

mod termination;

pub use termination::Termination;

/// How long what was read is taken for true: 1 minute.
const FRESH: Duration = Duration::from_secs(60);
/// How long a namespace and a kind are taken to stay after they were seen to: 10 seconds.
const STAYS: Duration = Duration::from_secs(10);

/// Namespaces, each read at most once a minute, or, where one of its objects is being deleted, six times.
pub struct Namespaces {
    client: Client,
    read: Mutex<HashMap<Box<str>, Read>>,
    stays: Mutex<HashMap<(Box<str>, &'static str), Instant>>,
}

#[derive(Clone, Copy)]
struct Read {
    at: Instant,
    assigns_uids: bool,
}

impl Namespaces {
    /// None read yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, read: Mutex::default(), stays: Mutex::default() }
    }

    /// Whether a namespace dictates which users pods run as ([`UID_RANGE`]). Where it may not be read, it is not known to.
    ///
    /// # Errors
    /// Transient, while it cannot be read and never was: a guess would be written into pods.
    pub async fn assigns_uids(&self, namespace: &str) -> Result<bool, Error> {
        let before = self.lock().get(namespace).copied();
        if let Some(read) = before.filter(|read| read.at.elapsed() < FRESH) {
            return Ok(read.assigns_uids);
        }
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.client.clone());
        let assigns_uids = match api.get_opt(namespace).await {
            Ok(found) => {
                found.and_then(|found| found.metadata.annotations).is_some_and(|all| all.contains_key(UID_RANGE))
            }
            Err(kube::Error::Api(status)) if status.code == 403 => false,
            Err(error) => match before {
                Some(before) => before.assigns_uids,
                None => return Err(error.into()),
            },
        };
        let mut read = self.lock();
        read.retain(|_, read| read.at.elapsed() < FRESH);
        read.insert(namespace.into(), Read { at: Instant::now(), assigns_uids });
        Ok(assigns_uids)
    }

    /// Whether an object of that kind goes because its namespace is being deleted, or its kind is: then nothing can be made any
    /// more of what its deletion may need. What cannot be read is not known to go.
    pub async fn is_going(&self, namespace: &str, kind: Kind) -> bool {
        self.termination(namespace, kind).await.is_some()
    }

    /// The same, and which of the two.
    pub async fn termination(&self, namespace: &str, kind: Kind) -> Option<Termination> {
        let place = (Box::from(namespace), kind.plural);
        let seen = |stays: &HashMap<_, Instant>| stays.get(&place).is_some_and(|at| at.elapsed() < STAYS);
        if seen(&self.stays.lock().unwrap_or_else(PoisonError::into_inner)) {
            return None;
        }
        if self.is_terminating(namespace).await {
            return Some(Termination::Namespace);
        }
        if !self.can_be_made(kind).await {
            return Some(Termination::Crd);
        }
        let mut stays = self.stays.lock().unwrap_or_else(PoisonError::into_inner);
        stays.retain(|_, at| at.elapsed() < STAYS);
        stays.insert(place, Instant::now());
        None
    }

    async fn is_terminating(&self, namespace: &str) -> bool {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.client.clone());
        match api.get_opt(namespace).await {
            Ok(found) => found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()),
            Err(error) => {
                tracing::debug!(%error, "the namespace cannot be read");
                false
            }
        }
    }

    /// The API server offers no `create` of a kind that is being deleted.
    async fn can_be_made(&self, kind: Kind) -> bool {
        match self.client.list_api_group_resources(&kind.api_version()).await {
            Ok(served) => {
                let mut all = served.resources.iter();
                all.any(|of| of.name == kind.plural && of.verbs.iter().any(|verb| verb == "create"))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => false,
            Err(error) => {
                tracing::debug!(%error, "the served resources cannot be read");
                true
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    /// An API server that gives one answer after another, and counts.
    fn answering(answers: &'static [(u16, &'static str)]) -> (Namespaces, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let (code, body) = answers[count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
            let response = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            async move { response }
        });
        (Namespaces::new(Client::new(service, "default")), asked)
    }

    const DICTATING: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","annotations":{"openshift.io/sa.scc.uid-range":"1000/10"}}}"#;
    const FREE: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#;
    const AWAY: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"away","reason":"InternalError","code":500}"#;
    const FORBIDDEN: &str =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}"#;

    #[tokio::test]
    async fn each_is_read_once_a_minute() {
        let (namespaces, asked) = answering(&[(200, DICTATING)]);
        for _ in 0..5 {
            assert!(namespaces.assigns_uids("a").await.unwrap());
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        assert!(namespaces.assigns_uids("b").await.unwrap());
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    const TERMINATING: &str =
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}"#;
    const SERVED: &str = r#"{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get","create"]}]}"#;
    const LEFT: &str = r#"{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get","delete"]}]}"#;
    const KIND: Kind = Kind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };

    #[tokio::test]
    async fn a_namespace_or_a_kind_that_is_being_deleted_takes_its_objects_along() {
        assert_eq!(answering(&[(200, TERMINATING)]).0.termination("a", KIND).await, Some(Termination::Namespace));
        assert_eq!(answering(&[(200, FREE), (200, LEFT)]).0.termination("a", KIND).await, Some(Termination::Crd));
        assert!(answering(&[(200, FREE), (200, LEFT)]).0.is_going("a", KIND).await);
        let (unknown, _) = answering(&[(500, AWAY)]);
        assert!(!unknown.is_going("a", KIND).await, "what cannot be read is not known to go");
    }

    #[tokio::test]
    async fn what_stays_is_not_asked_for_again_at_once() {
        let (namespaces, asked) = answering(&[(200, FREE), (200, SERVED)]);
        for _ in 0..5 {
            assert!(!namespaces.is_going("a", KIND).await);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_guessed_only_where_it_may_not_be() {
        let (namespaces, asked) = answering(&[(500, AWAY), (200, FREE)]);
        assert!(namespaces.assigns_uids("a").await.is_err());
        assert!(!namespaces.assigns_uids("a").await.unwrap());
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        let (namespaces, asked) = answering(&[(403, FORBIDDEN)]);
        assert!(!namespaces.assigns_uids("a").await.unwrap());
        assert!(!namespaces.assigns_uids("a").await.unwrap());
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}
