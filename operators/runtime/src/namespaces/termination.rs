//! Pure: why an object is deleted together with others.

/// What is being deleted together with the object, so that no objects can be created for its cleanup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// Its namespace is being deleted, with all objects in it.
    Namespace,
    /// Its CRD is being deleted, with all objects of the kind and those that they own.
    Crd,
}
