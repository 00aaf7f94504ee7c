//! The kind, as the runtime reads it.

use runtime::plan::Kind;
use runtime::projections::{Custom, CustomKind};

/// The kind MyApp.
#[derive(Debug)]
pub enum MyAppKind {}

impl CustomKind for MyAppKind {
    const KIND: Kind = Kind { group: api::GROUP, version: "v1", kind: "MyApp", plural: "myapps" };
    type Spec = api::my_app::MyAppSpec;
    type Status = api::my_app::MyAppStatus;
}

/// A MyApp as the planner sees it.
pub type MyApp = Custom<MyAppKind>;
