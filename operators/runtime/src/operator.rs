//! The trait that an operator implements.

use std::sync::Arc;

use jiff::Timestamp;

use crate::Error;
use crate::cache::Store;
use crate::controller::WatchBuilder;
use crate::plan::Plan;
use crate::projections::Resource;

/// The operator of one kind: how to observe an object, and what to do about it.
pub trait Operator: Send + Sync + 'static {
    /// The controller's name, in metrics, logs and (after `multi-operator-`) as field manager.
    const NAME: &'static str;
    /// The kind that it manages.
    type Object: Resource;
    /// The observed state of an object and its children, including what is unknown.
    type Observed: Send + Sync;
    /// The acts on the live system behind an object; [`std::convert::Infallible`] if there is none.
    type Act: std::fmt::Debug + Send;

    /// The store of the objects.
    fn objects(&self) -> &Arc<Store<Self::Object>>;

    /// Subscribes to the stores of children, whose changes enqueue the objects.
    fn watch(&self, watches: &mut WatchBuilder);

    /// Reads the observed state.
    ///
    /// # Errors
    /// If nothing could be observed; an incomplete observation is data.
    fn observe(&self, object: &Arc<Self::Object>) -> impl Future<Output = Result<Self::Observed, Error>> + Send;

    /// Decides what to do. Pure.
    fn plan(observed: &Self::Observed, now: Timestamp) -> Plan<<Self::Object as Resource>::Status, Self::Act>;

    /// Performs an act on the live system behind an object.
    ///
    /// # Errors
    /// The failure, classified by what resolves it.
    fn act(&self, object: &Arc<Self::Object>, act: Self::Act) -> impl Future<Output = Result<(), Error>> + Send;

    /// Whether this install manages the object: nothing is written to an unmanaged one.
    fn manages(&self, _object: &Self::Object) -> bool {
        true
    }
}
