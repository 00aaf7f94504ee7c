//! The kind, as the runtime reads it.

use runtime::plan::ResourceKind;
use runtime::projections::{Custom, CustomKind};

/// The kind MyApp.
#[derive(Debug)]
pub enum MyAppKind {}

impl CustomKind for MyAppKind {
    const KIND: ResourceKind = ResourceKind { group: api::GROUP, version: "v1", kind: "MyApp", plural: "myapps" };
    type Spec = api::my_app::MyAppSpec;
    type Status = api::my_app::MyAppStatus;
}

/// A MyApp as a projection.
pub type MyApp = Custom<MyAppKind>;
