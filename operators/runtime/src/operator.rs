//! What an operator has to bring.

use std::sync::Arc;

use jiff::Timestamp;

use crate::Error;
use crate::cache::Store;
use crate::controller::Watches;
use crate::plan::Plan;
use crate::projections::Resource;

/// One kind's operator: how to look, and what to do about what is seen.
pub trait Operator: Send + Sync + 'static {
    /// The controller's name, in metrics, logs and (after `multi-operator-`) as field manager.
    const NAME: &'static str;
    /// The kind it looks after.
    type Object: Resource;
    /// What is seen of an object and of what belongs to it, unknowns included.
    type Observed: Send + Sync;
    /// What may be done to the live system behind an object; [`std::convert::Infallible`] where there is none.
    type Act: std::fmt::Debug + Send;

    /// The store of the objects.
    fn objects(&self) -> &Arc<Store<Self::Object>>;

    /// Names the stores of children, whose changes concern the objects.
    fn watch(&self, watches: &mut Watches);

    /// Looks.
    ///
    /// # Errors
    /// If it could not look at all; what could only partly be seen is data.
    fn observe(&self, object: &Arc<Self::Object>) -> impl Future<Output = Result<Self::Observed, Error>> + Send;

    /// Decides. Pure.
    fn plan(observed: &Self::Observed, now: Timestamp) -> Plan<<Self::Object as Resource>::Status, Self::Act>;

    /// Acts upon the live system behind an object.
    ///
    /// # Errors
    /// The failure, classed by what ends it.
    fn act(&self, object: &Arc<Self::Object>, act: Self::Act) -> impl Future<Output = Result<(), Error>> + Send;

    /// Whether the object is any of this install's business: nothing is written to one that is not.
    fn manages(&self, _object: &Self::Object) -> bool {
        true
    }
}
