//! Reasons of a MyApp's conditions.

use crate::reason::reasons;

reasons! {
    /// Reasons of a MyApp's conditions, in addition to [`ReconcileReason`](crate::ReconcileReason),
    /// [`PodReason`](crate::PodReason) and what the controllers of autoscaler and Gateway report. Each Event has the
    /// reason of a condition.
    MyAppReason {
        /// The controller of the Gateway has not accepted the HTTPRoute yet.
        AcceptancePending,
        /// The controller of the Gateway accepts the HTTPRoute.
        Accepted,
        /// A controller has assigned an address to the Ingress.
        AddressAssigned,
        /// The Ingress has no address yet.
        AddressPending,
        /// The API server refuses the pods of the Deployment.
        FailedCreate,
        /// The cluster does not serve HTTPRoutes.
        GatewayAPIMissing,
        /// A metric of `spec.autoscaling.metrics` is too large or too deeply nested.
        MetricsInvalid,
        /// `spec.paused` is true, so the operator changes nothing.
        Paused,
        /// `spec.podOverrides` is not a pod template, is too large, or changes what belongs to the operator.
        PodOverridesInvalid,
        /// `spec.podOverrides` goes beyond what the manager allows.
        PodOverridesNotAllowed,
        /// The rollout makes no progress within `spec.progressDeadlineSeconds`.
        ProgressDeadlineExceeded,
        /// The Deployment starts, replaces or stops pods, or waits until it can.
        Progressing,
        /// An object that `spec.restartOn` names does not exist.
        RestartSourceMissing,
        /// The pods run the last image that was Ready, since the requested one made no progress.
        RolledBack,
        /// All requested pods are ready and run the requested image.
        Running,
        /// No pods are requested, and none run.
        ScaledToZero,
    }
}
