//! Pure: what takes an object along that is being deleted.

/// What is being deleted together with the object, so that no objects can be created for its cleanup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// Its namespace is being deleted, and with it all that is in there.
    Namespace,
    /// Its CRD is being deleted, and with it all objects of that kind; objects of others stay, but for those that they own.
    Crd,
}
