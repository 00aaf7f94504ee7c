//! The markers of built-in kinds. Made from the schema of client-go 0.36 (applyconfigurations/internal/internal.go); only fields
//! with a marker, or with a marker below them, are listed. Lists without a marker are atomic.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field_type::{FieldType, ListKey, ListType};
use super::marker::FieldTable;
use super::marker::Marker::{self, Atomic, Keyed, KeyedAtomic, Map, Set, Struct};
use super::pods::{
    CONDITIONS, FLEX_VOLUME_SOURCE, OBJECT_META, PERSISTENT_VOLUME_CLAIM_SPEC, POD, POD_TEMPLATE_SPEC, SECRET_REF,
};

/// The status of a kind whose only marker is that of its conditions.
const STATUS: FieldTable = &[("conditions", CONDITIONS)];
/// A kind without markers but those of its metadata.
const METADATA_ONLY: FieldTable = &[("metadata", Struct(OBJECT_META))];
const WORKLOAD_SPEC: FieldTable = &[("selector", Atomic), ("template", Struct(POD_TEMPLATE_SPEC))];
const WORKLOAD: FieldTable =
    &[("metadata", Struct(OBJECT_META)), ("spec", Struct(WORKLOAD_SPEC)), ("status", Struct(STATUS))];
const UNCOUNTED_TERMINATED_PODS: FieldTable = &[("failed", Set), ("succeeded", Set)];
const JOB_STATUS: FieldTable = &[("uncountedTerminatedPods", Struct(UNCOUNTED_TERMINATED_PODS))];
const JOB: FieldTable =
    &[("metadata", Struct(OBJECT_META)), ("spec", Struct(WORKLOAD_SPEC)), ("status", Struct(JOB_STATUS))];
const JOB_TEMPLATE_SPEC: FieldTable = &[("metadata", Struct(OBJECT_META)), ("spec", Struct(WORKLOAD_SPEC))];
const CRON_JOB_SPEC: FieldTable = &[("jobTemplate", Struct(JOB_TEMPLATE_SPEC))];
const CRON_JOB: FieldTable = &[("metadata", Struct(OBJECT_META)), ("spec", Struct(CRON_JOB_SPEC))];
const SERVICE_SPEC: FieldTable = &[("ports", Keyed(&["port", "protocol"], &[])), ("selector", Atomic)];
const SERVICE: FieldTable =
    &[("metadata", Struct(OBJECT_META)), ("spec", Struct(SERVICE_SPEC)), ("status", Struct(STATUS))];
const CONFIG_MAP: FieldTable = &[("binaryData", Map), ("data", Map), ("metadata", Struct(OBJECT_META))];
const SECRET: FieldTable = &[("data", Map), ("metadata", Struct(OBJECT_META)), ("stringData", Map)];
const PERSISTENT_VOLUME_CLAIM_STATUS: FieldTable =
    &[("allocatedResourceStatuses", Map), ("allocatedResources", Map), ("capacity", Map), ("conditions", CONDITIONS)];
const PERSISTENT_VOLUME_CLAIM: FieldTable = &[
    ("metadata", Struct(OBJECT_META)),
    ("spec", Struct(PERSISTENT_VOLUME_CLAIM_SPEC)),
    ("status", Struct(PERSISTENT_VOLUME_CLAIM_STATUS)),
];
const CSI_PERSISTENT_VOLUME_SOURCE: FieldTable = &[
    ("controllerExpandSecretRef", Atomic),
    ("controllerPublishSecretRef", Atomic),
    ("nodeExpandSecretRef", Atomic),
    ("nodePublishSecretRef", Atomic),
    ("nodeStageSecretRef", Atomic),
    ("volumeAttributes", Map),
];
const VOLUME_NODE_AFFINITY: FieldTable = &[("required", Atomic)];
const PERSISTENT_VOLUME_SPEC: FieldTable = &[
    ("capacity", Map),
    ("cephfs", Struct(SECRET_REF)),
    ("cinder", Struct(SECRET_REF)),
    ("claimRef", Atomic),
    ("csi", Struct(CSI_PERSISTENT_VOLUME_SOURCE)),
    ("flexVolume", Struct(FLEX_VOLUME_SOURCE)),
    ("iscsi", Struct(SECRET_REF)),
    ("nodeAffinity", Struct(VOLUME_NODE_AFFINITY)),
    ("rbd", Struct(SECRET_REF)),
    ("scaleIO", Struct(SECRET_REF)),
    ("storageos", Struct(SECRET_REF)),
];
const PERSISTENT_VOLUME: FieldTable = &[("metadata", Struct(OBJECT_META)), ("spec", Struct(PERSISTENT_VOLUME_SPEC))];
const INGRESS_SERVICE_BACKEND: FieldTable = &[("port", Atomic)];
const INGRESS_BACKEND: FieldTable = &[("resource", Atomic), ("service", Struct(INGRESS_SERVICE_BACKEND))];
const INGRESS_SPEC: FieldTable = &[("defaultBackend", Struct(INGRESS_BACKEND))];
const INGRESS: FieldTable = &[("metadata", Struct(OBJECT_META)), ("spec", Struct(INGRESS_SPEC))];
const NETWORK_POLICY_SPEC: FieldTable = &[("podSelector", Atomic)];
const NETWORK_POLICY: FieldTable = &[("metadata", Struct(OBJECT_META)), ("spec", Struct(NETWORK_POLICY_SPEC))];
const HORIZONTAL_POD_AUTOSCALER: FieldTable = &[("metadata", Struct(OBJECT_META)), ("status", Struct(STATUS))];
const POD_DISRUPTION_BUDGET_SPEC: FieldTable = &[("selector", Atomic)];
const POD_DISRUPTION_BUDGET_STATUS: FieldTable = &[("conditions", CONDITIONS), ("disruptedPods", Map)];
const POD_DISRUPTION_BUDGET: FieldTable = &[
    ("metadata", Struct(OBJECT_META)),
    ("spec", Struct(POD_DISRUPTION_BUDGET_SPEC)),
    ("status", Struct(POD_DISRUPTION_BUDGET_STATUS)),
];
const CONTROLLER_REVISION: FieldTable = &[("data", Atomic), ("metadata", Struct(OBJECT_META))];
const EVENT: FieldTable =
    &[("involvedObject", Atomic), ("metadata", Struct(OBJECT_META)), ("regarding", Atomic), ("related", Atomic)];
const NAMESPACE: FieldTable = &[("metadata", Struct(OBJECT_META)), ("status", Struct(STATUS))];
const NODE_SPEC: FieldTable = &[("podCIDRs", Set)];
const NODE_STATUS: FieldTable =
    &[("addresses", CONDITIONS), ("allocatable", Map), ("capacity", Map), ("conditions", CONDITIONS)];
const NODE: FieldTable =
    &[("metadata", Struct(OBJECT_META)), ("spec", Struct(NODE_SPEC)), ("status", Struct(NODE_STATUS))];
const SERVICE_ACCOUNT: FieldTable = &[("metadata", Struct(OBJECT_META)), ("secrets", KeyedAtomic(&["name"]))];
const ROLE_BINDING: FieldTable = &[("metadata", Struct(OBJECT_META)), ("roleRef", Atomic)];
const STORAGE_CLASS: FieldTable = &[("metadata", Struct(OBJECT_META)), ("parameters", Map)];
const RESOURCE_QUOTA_SPEC: FieldTable = &[("hard", Map), ("scopeSelector", Atomic)];
const RESOURCE_QUOTA_STATUS: FieldTable = &[("hard", Map), ("used", Map)];
const RESOURCE_QUOTA: FieldTable = &[
    ("metadata", Struct(OBJECT_META)),
    ("spec", Struct(RESOURCE_QUOTA_SPEC)),
    ("status", Struct(RESOURCE_QUOTA_STATUS)),
];

/// The empty objects of kinds whose Go structs always write the same fields.
const EMPTY_METADATA: &str = r#"{"metadata":{}}"#;
const EMPTY_SPEC: &str = r#"{"metadata":{},"spec":{}}"#;
const EMPTY: &str = r#"{"metadata":{},"spec":{},"status":{}}"#;
const EMPTY_ROLE: &str = r#"{"metadata":{},"rules":null}"#;
const EMPTY_BINDING: &str = r#"{"metadata":{},"roleRef":{"apiGroup":"","kind":"","name":""}}"#;

/// Of the kinds Event of both groups: the fields that one has not are empty before and after each write.
const EMPTY_EVENT: &str = r#"{"metadata":{},"involvedObject":{},"regarding":{},"source":{},"deprecatedSource":{}}"#;

/// The type of the objects of a built-in kind, and an object without content, as its Go struct writes it (1.36); `None` if there
/// is no such kind here.
pub(super) fn kind(plural: &str) -> (FieldType, Option<Value>) {
    let (fields, empty) = match plural {
        "pods" => (POD, r#"{"metadata":{},"spec":{"containers":null},"status":{}}"#),
        "deployments" => (
            WORKLOAD,
            r#"{"metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},"status":{}}"#,
        ),
        "statefulsets" => (
            WORKLOAD,
            r#"{"metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"serviceName":"","updateStrategy":{}},"status":{"replicas":0,"availableReplicas":0}}"#,
        ),
        "replicasets" => (
            WORKLOAD,
            r#"{"metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}}},"status":{"replicas":0}}"#,
        ),
        "daemonsets" => (
            WORKLOAD,
            r#"{"metadata":{},"spec":{"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"updateStrategy":{}},"status":{"currentNumberScheduled":0,"numberMisscheduled":0,"desiredNumberScheduled":0,"numberReady":0}}"#,
        ),
        "controllerrevisions" => (CONTROLLER_REVISION, r#"{"metadata":{},"revision":0}"#),
        "jobs" => {
            (JOB, r#"{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}},"status":{}}"#)
        }
        "cronjobs" => (
            CRON_JOB,
            r#"{"metadata":{},"spec":{"schedule":"","jobTemplate":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}}},"status":{}}"#,
        ),
        "services" => (SERVICE, r#"{"metadata":{},"spec":{},"status":{"loadBalancer":{}}}"#),
        "configmaps" => (CONFIG_MAP, EMPTY_METADATA),
        "secrets" => (SECRET, EMPTY_METADATA),
        "persistentvolumeclaims" => (PERSISTENT_VOLUME_CLAIM, r#"{"metadata":{},"spec":{"resources":{}},"status":{}}"#),
        "persistentvolumes" => (PERSISTENT_VOLUME, EMPTY),
        "ingresses" => (INGRESS, r#"{"metadata":{},"spec":{},"status":{"loadBalancer":{}}}"#),
        "networkpolicies" => (NETWORK_POLICY, r#"{"metadata":{},"spec":{"podSelector":{}}}"#),
        "horizontalpodautoscalers" => (
            HORIZONTAL_POD_AUTOSCALER,
            r#"{"metadata":{},"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0},"status":{"desiredReplicas":0,"currentMetrics":null}}"#,
        ),
        "poddisruptionbudgets" => (
            POD_DISRUPTION_BUDGET,
            r#"{"metadata":{},"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}"#,
        ),
        "leases" => (METADATA_ONLY, EMPTY_SPEC),
        "events" => (EVENT, EMPTY_EVENT),
        "namespaces" => (NAMESPACE, EMPTY),
        "nodes" => (
            NODE,
            r#"{"metadata":{},"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}"#,
        ),
        "serviceaccounts" => (SERVICE_ACCOUNT, EMPTY_METADATA),
        "endpoints" => (METADATA_ONLY, EMPTY_METADATA),
        "endpointslices" => (METADATA_ONLY, r#"{"metadata":{},"addressType":"","endpoints":null,"ports":null}"#),
        "roles" => (METADATA_ONLY, EMPTY_ROLE),
        "rolebindings" => (ROLE_BINDING, EMPTY_BINDING),
        "clusterroles" => (METADATA_ONLY, EMPTY_ROLE),
        "clusterrolebindings" => (ROLE_BINDING, EMPTY_BINDING),
        "storageclasses" => (STORAGE_CLASS, r#"{"metadata":{},"provisioner":""}"#),
        "resourcequotas" => (RESOURCE_QUOTA, EMPTY),
        "limitranges" => (METADATA_ONLY, r#"{"metadata":{},"spec":{"limits":null}}"#),
        _ => return (struct_of(METADATA_ONLY), None),
    };
    (struct_of(fields), serde_json::from_str(empty).ok())
}

/// The type of the metadata of all kinds.
pub(super) fn object_meta() -> FieldType {
    struct_of(OBJECT_META)
}

fn struct_of(fields: FieldTable) -> FieldType {
    let fields: BTreeMap<_, _> = fields.iter().map(|(name, marker)| ((*name).to_owned(), field(*marker))).collect();
    FieldType::Map { fields, others: None }
}

fn field(marker: Marker) -> FieldType {
    match marker {
        Atomic => FieldType::Atomic,
        Set => FieldType::List { list: ListType::Set, items: Box::new(FieldType::Plain) },
        Map => FieldType::Map { fields: BTreeMap::new(), others: Some(Box::new(FieldType::Plain)) },
        Keyed(keys, fields) => keyed(keys, struct_of(fields)),
        KeyedAtomic(keys) => keyed(keys, FieldType::Atomic),
        Struct(fields) => struct_of(fields),
    }
}

fn keyed(keys: &[&str], items: FieldType) -> FieldType {
    FieldType::List { list: ListType::Map(keys.iter().map(|key| list_key(key)).collect()), items: Box::new(items) }
}

/// A key field. The only one that may be missing in a valid object is the protocol of a port.
fn list_key(name: &str) -> ListKey {
    ListKey { name: name.to_owned(), default: (name == "protocol").then(|| Value::from("TCP")) }
}
