//! What stores keep of Kubernetes' own kinds, and of custom resources: projections, never whole objects.

mod child;
mod claim;
mod custom;
mod deployment;
mod job;
mod live;
mod pod;
mod stateful_set;

pub use child::{Child, ConfigMap, DisruptionBudget, Service};
pub use claim::Claim;
pub use custom::{Custom, CustomKind, Resource};
pub use deployment::{Conditions, Deployment, Rollout, RolloutCondition, Template};
pub use job::{Job, JobEnd};
pub use pod::{Container, Ended, Pod, Running, Trouble};
pub use stateful_set::{StatefulSet, StatefulSetStatus};
