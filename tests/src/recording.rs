//! Everything an object has been, for what must not happen meanwhile.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Api;
use kube::core::Resource;
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::wait::watched;

/// Watches one object until it is dropped.
#[derive(Debug)]
pub struct Recording<K> {
    seen: Arc<Mutex<Vec<Option<K>>>>,
    watching: JoinHandle<()>,
}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> Recording<K> {
    /// Begins, and returns once the present state is known.
    ///
    /// # Panics
    /// If the API server refuses.
    pub async fn start(api: Api<K>, name: &str) -> Self {
        let seen = Arc::<Mutex<Vec<Option<K>>>>::default();
        let (name, record) = (name.to_owned(), seen.clone());
        let (begun, first) = oneshot::channel();
        let mut begun = Some(begun);
        let watching = tokio::spawn(async move {
            watched(&api, &name, |object| {
                record.lock().unwrap_or_else(PoisonError::into_inner).push(object);
                if let Some(begun) = begun.take() {
                    begun.send(()).ok();
                }
                ControlFlow::<()>::Continue(())
            })
            .await;
        });
        first.await.expect("the API server lets us watch");
        Self { seen, watching }
    }

    /// All states so far, the first one included; `None` where it was absent.
    #[must_use]
    pub fn states(&self) -> Vec<Option<K>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All objects so far.
    #[must_use]
    pub fn objects(&self) -> Vec<K> {
        self.states().into_iter().flatten().collect()
    }
}

impl<K> Drop for Recording<K> {
    fn drop(&mut self) {
        self.watching.abort();
    }
}
