//! What is read of namespaces, by name and seldom: it hardly ever changes, and a watch would need the right to list all of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};

use crate::Error;
use crate::plan::meta::DICTATED_USERS;

/// How long what was read is taken for true: 1 minute.
const FRESH: Duration = Duration::from_secs(60);

/// Namespaces, each read at most once a minute.
pub struct Namespaces {
    client: Client,
    read: Mutex<HashMap<Box<str>, Read>>,
}

#[derive(Clone, Copy)]
struct Read {
    at: Instant,
    dictates_users: bool,
}

impl Namespaces {
    /// None read yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, read: Mutex::default() }
    }

    /// Whether a namespace dictates which users pods run as ([`DICTATED_USERS`]). Where it may not be read, it is not known to.
    ///
    /// # Errors
    /// Transient, while it cannot be read and never was: a guess would be written into pods.
    pub async fn dictates_users(&self, namespace: &str) -> Result<bool, Error> {
        let before = self.lock().get(namespace).copied();
        if let Some(read) = before.filter(|read| read.at.elapsed() < FRESH) {
            return Ok(read.dictates_users);
        }
        let api: Api<PartialObjectMeta<Namespace>> = Api::all(self.client.clone());
        let dictates_users = match api.get_opt(namespace).await {
            Ok(found) => {
                found.and_then(|found| found.metadata.annotations).is_some_and(|all| all.contains_key(DICTATED_USERS))
            }
            Err(kube::Error::Api(status)) if status.code == 403 => false,
            Err(error) => match before {
                Some(before) => before.dictates_users,
                None => return Err(error.into()),
            },
        };
        let mut read = self.lock();
        read.retain(|_, read| read.at.elapsed() < FRESH);
        read.insert(namespace.into(), Read { at: Instant::now(), dictates_users });
        Ok(dictates_users)
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
            assert!(namespaces.dictates_users("a").await.unwrap());
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        assert!(namespaces.dictates_users("b").await.unwrap());
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_guessed_only_where_it_may_not_be() {
        let (namespaces, asked) = answering(&[(500, AWAY), (200, FREE)]);
        assert!(namespaces.dictates_users("a").await.is_err());
        assert!(!namespaces.dictates_users("a").await.unwrap());
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        let (namespaces, asked) = answering(&[(403, FORBIDDEN)]);
        assert!(!namespaces.dictates_users("a").await.unwrap());
        assert!(!namespaces.dictates_users("a").await.unwrap());
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }
}
