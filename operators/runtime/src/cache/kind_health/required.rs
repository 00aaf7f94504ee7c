//! Whether a kind that is not served is polled for: only while a managed object needs it.

use super::KindHealth;

impl KindHealth {
    /// Has the kind polled for while it is not served: a managed object needs it.
    pub fn require(&self) {
        self.watches.modify(|watches| !std::mem::replace(&mut watches.required, true));
    }

    /// Limits this to the time in which `still_required` returns true. Without it, [`Self::require`] has a lasting effect. Only
    /// the first call counts.
    pub fn required_while(&self, still_required: impl Fn() -> bool + Send + Sync + 'static) {
        drop(self.still_required.set(Box::new(still_required)));
    }

    /// Ends the polling, unless a managed object still needs the kind. In this order, so that a call of [`Self::require`] in
    /// between counts.
    pub(in crate::cache) fn refresh_required(&self) {
        let Some(still_required) = self.still_required.get() else { return };
        self.watches.modify(|watches| std::mem::take(&mut watches.required));
        if still_required() {
            self.require();
        }
    }

    /// Whether a managed object needs the kind.
    pub(in crate::cache) fn is_required(&self) -> bool {
        self.watches.read(|watches| watches.required)
    }

    /// Waits until a managed object needs the kind.
    pub(in crate::cache) async fn until_required(&self) {
        self.watches.wait_for(|watches| watches.required).await;
    }
}
