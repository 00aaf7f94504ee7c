//! Pure: what stores keep of Kubernetes' own kinds, and of custom resources: projections, never whole objects.

mod autoscaler;
mod child;
mod claim;
mod custom;
mod deployment;
mod http_route;
mod ingress;
mod job;
mod kept;
mod managed_fields;
mod pod;
mod stateful_set;

pub use autoscaler::{Autoscaler, Scaling};
pub use child::{Child, ConfigMap, DisruptionBudget, Service};
pub use claim::Claim;
pub use custom::{Custom, CustomKind, Resource};
pub use deployment::{Conditions, Deployment, Port, Rollout, RolloutCondition, Template};
pub use http_route::{HttpRoute, ParentRef, RouteCondition, RouteParent};
pub use ingress::Ingress;
pub use job::{Job, JobEnd};
pub use kept::Kept;
pub use pod::{Container, Ended, Pod, PodDiagnosis, Running, Starting};
pub use stateful_set::{StatefulSet, StatefulSetStatus};
