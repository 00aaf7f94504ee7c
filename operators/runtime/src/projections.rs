//! Pure: the projections of built-in kinds and custom resources. Stores never keep complete objects.

mod applied_child;
mod autoscaler;
mod custom;
mod deployment;
mod http_route;
mod ingress;
mod job;
mod managed_fields;
mod plain_child;
mod pod;
mod pvc;
mod stateful_set;

pub use applied_child::AppliedChild;
pub use autoscaler::{Autoscaler, Scaling};
pub use custom::{Custom, CustomKind, Resource};
pub use deployment::{Conditions, ContainerPort, Deployment, Rollout, RolloutCondition, Template};
pub use http_route::{HttpRoute, ParentRef, RouteCondition, RouteParent};
pub use ingress::Ingress;
pub use job::{Job, JobEnd};
pub use plain_child::{ConfigMap, DisruptionBudget, PlainChild, Service};
pub use pod::{ContainerStatus, Pod, PodDetails, PodDiagnosis, Terminated, VolumeWait};
pub use pvc::Pvc;
pub use stateful_set::{StatefulSet, StatefulSetStatus};
