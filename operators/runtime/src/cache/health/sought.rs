//! Whether a kind that is not served is looked for: only while somebody asks for such an object.

use super::Health;

impl Health {
    /// Has it looked for from now on, if the kind is not served: somebody asks for such an object.
    pub fn seek(&self) {
        self.watches.send_if_modified(|watches| !std::mem::replace(&mut watches.sought, true));
    }

    /// Has it looked for only while `asks` says that somebody asks for such an object; else once [`Self::seek`] has been called,
    /// for good. What is given first holds.
    pub fn sought_while(&self, asks: impl Fn() -> bool + Send + Sync + 'static) {
        drop(self.asks.set(Box::new(asks)));
    }

    /// Takes back that it is looked for, unless somebody still asks for such an object. In this order: who asks meanwhile is heard.
    pub(in crate::cache) fn reconsider(&self) {
        let Some(asks) = self.asks.get() else { return };
        self.watches.send_if_modified(|watches| std::mem::take(&mut watches.sought));
        if asks() {
            self.seek();
        }
    }

    /// Whether somebody has asked for such an object.
    pub(in crate::cache) fn is_sought(&self) -> bool {
        self.watches.borrow().sought
    }

    /// Waits until somebody has asked for such an object.
    pub(in crate::cache) async fn sought(&self) {
        // The sender lives as long as this, so this does not end early.
        drop(self.subscribe().wait_for(|watches| watches.sought).await);
    }
}
