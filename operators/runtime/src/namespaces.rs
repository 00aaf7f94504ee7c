//! Reads namespaces by name and caches the result: it hardly ever changes, and a watch would need the permission to list all
//! namespaces.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use tokio::time::Instant;

use crate::Error;
use crate::plan::meta::{ResourceKind, UID_RANGE};

mod termination;

pub use termination::Termination;

/// How long it is cached whether a namespace assigns UIDs.
const UID_RANGE_TTL: Duration = Duration::from_secs(60);
/// How long it is cached that a namespace and a kind are not being deleted.
const NOT_TERMINATING_TTL: Duration = Duration::from_secs(10);

/// Reads each namespace at most once a minute, or six times while one of its objects is being deleted.
pub struct NamespaceReader {
    client: Client,
    read: Mutex<HashMap<Box<str>, CachedNamespace>>,
    not_terminating: Mutex<HashMap<(Box<str>, &'static str), Instant>>,
}

#[derive(Clone, Copy)]
struct CachedNamespace {
    at: Instant,
    assigns_uids: bool,
}

impl NamespaceReader {
    /// A reader with an empty cache.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, read: Mutex::default(), not_terminating: Mutex::default() }
    }

    /// Whether a namespace assigns the UIDs of its pods ([`UID_RANGE`]). False if the manager may not read the namespace.
    ///
    /// # Errors
    /// Transient, while the namespace cannot be read and never was: a guess would be written to pods.
    pub async fn assigns_uids(&self, namespace: &str) -> Result<bool, Error> {
        let before = self.lock().get(namespace).copied();
        if let Some(read) = before.filter(|read| read.at.elapsed() < UID_RANGE_TTL) {
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
        read.retain(|_, read| read.at.elapsed() < UID_RANGE_TTL);
        read.insert(namespace.into(), CachedNamespace { at: Instant::now(), assigns_uids });
        Ok(assigns_uids)
    }

    /// Whether an object of that kind is deleted because its namespace or its CRD is: then its cleanup can no longer create
    /// objects. False if that cannot be read.
    pub async fn is_terminating(&self, namespace: &str, kind: ResourceKind) -> bool {
        self.termination(namespace, kind).await.is_some()
    }

    /// The same, with the cause.
    pub async fn termination(&self, namespace: &str, kind: ResourceKind) -> Option<Termination> {
        let place = (Box::from(namespace), kind.plural);
        let seen = |not_terminating: &HashMap<_, Instant>| {
            not_terminating.get(&place).is_some_and(|at| at.elapsed() < NOT_TERMINATING_TTL)
        };
        if seen(&self.not_terminating.lock().unwrap_or_else(PoisonError::into_inner)) {
            return None;
        }
        if self.is_namespace_terminating(namespace).await {
            return Some(Termination::Namespace);
        }
        if !self.can_be_created(kind).await {
            return Some(Termination::Crd);
        }
        let mut not_terminating = self.not_terminating.lock().unwrap_or_else(PoisonError::into_inner);
        not_terminating.retain(|_, at| at.elapsed() < NOT_TERMINATING_TTL);
        not_terminating.insert(place, Instant::now());
        None
    }

    async fn is_namespace_terminating(&self, namespace: &str) -> bool {
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.client.clone());
        match api.get_opt(namespace).await {
            Ok(found) => found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()),
            Err(error) => {
                tracing::debug!(%error, "the namespace cannot be read");
                false
            }
        }
    }

    /// Whether objects of that kind can be created: the verb is not offered while the CRD is being deleted.
    async fn can_be_created(&self, kind: ResourceKind) -> bool {
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, CachedNamespace>> {
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

    /// An API server with these responses in order, and the number of requests.
    fn answering(answers: &'static [(u16, &'static str)]) -> (NamespaceReader, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let (code, body) = answers[count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
            let response = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            async move { response }
        });
        (NamespaceReader::new(Client::new(service, "default")), asked)
    }

    const ASSIGNING: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","annotations":{"openshift.io/sa.scc.uid-range":"1000/10"}}}"#;
    const FREE: &str = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#;
    const AWAY: &str = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"away","reason":"InternalError","code":500}"#;
    const FORBIDDEN: &str =
        r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403}"#;

    #[tokio::test]
    async fn each_namespace_is_read_once_a_minute() {
        let (namespaces, asked) = answering(&[(200, ASSIGNING)]);
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
    const KIND: ResourceKind = ResourceKind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };

    #[tokio::test]
    async fn a_terminating_namespace_or_crd_terminates_its_objects() {
        assert_eq!(answering(&[(200, TERMINATING)]).0.termination("a", KIND).await, Some(Termination::Namespace));
        assert_eq!(answering(&[(200, FREE), (200, LEFT)]).0.termination("a", KIND).await, Some(Termination::Crd));
        assert!(answering(&[(200, FREE), (200, LEFT)]).0.is_terminating("a", KIND).await);
        let (unknown, _) = answering(&[(500, AWAY)]);
        assert!(!unknown.is_terminating("a", KIND).await, "it cannot be read");
    }

    #[tokio::test]
    async fn a_negative_result_is_cached() {
        let (namespaces, asked) = answering(&[(200, FREE), (200, SERVED)]);
        for _ in 0..5 {
            assert!(!namespaces.is_terminating("a", KIND).await);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn an_unreadable_namespace_is_an_error_unless_reading_is_forbidden() {
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
