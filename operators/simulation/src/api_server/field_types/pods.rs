//! The markers of pods and of what other kinds share with them. Made from the schema of client-go 0.36
//! (applyconfigurations/internal/internal.go); only fields with a marker, or with a marker below them, are listed.

use super::marker::FieldTable;
use super::marker::Marker::{self, Atomic, Keyed, KeyedAtomic, Map, Set, Struct};

/// A list of conditions, or of anything else that is identified by its type.
pub(super) const CONDITIONS: Marker = Keyed(&["type"], &[]);
/// A list of structs without markers that are identified by name.
const NAMED: Marker = Keyed(&["name"], &[]);
/// A struct whose only marker is that of the reference to a Secret.
pub(super) const SECRET_REF: FieldTable = &[("secretRef", Atomic)];

pub(super) const OBJECT_META: FieldTable =
    &[("annotations", Map), ("finalizers", Set), ("labels", Map), ("ownerReferences", KeyedAtomic(&["uid"]))];
pub(super) const NODE_AFFINITY: FieldTable = &[("requiredDuringSchedulingIgnoredDuringExecution", Atomic)];
pub(super) const AFFINITY: FieldTable = &[("nodeAffinity", Struct(NODE_AFFINITY))];
pub(super) const ENV_VAR_SOURCE: FieldTable = &[
    ("configMapKeyRef", Atomic),
    ("fieldRef", Atomic),
    ("fileKeyRef", Atomic),
    ("resourceFieldRef", Atomic),
    ("secretKeyRef", Atomic),
];
pub(super) const ENV_VAR: FieldTable = &[("valueFrom", Struct(ENV_VAR_SOURCE))];
pub(super) const RESOURCE_REQUIREMENTS: FieldTable = &[("claims", NAMED), ("limits", Map), ("requests", Map)];
pub(super) const CONTAINER: FieldTable = &[
    ("env", Keyed(&["name"], ENV_VAR)),
    ("ports", Keyed(&["containerPort", "protocol"], &[])),
    ("resources", Struct(RESOURCE_REQUIREMENTS)),
    ("volumeDevices", Keyed(&["devicePath"], &[])),
    ("volumeMounts", Keyed(&["mountPath"], &[])),
];
pub(super) const TOPOLOGY_SPREAD_CONSTRAINT: FieldTable = &[("labelSelector", Atomic)];
pub(super) const CSI_VOLUME_SOURCE: FieldTable = &[("nodePublishSecretRef", Atomic), ("volumeAttributes", Map)];
pub(super) const VOLUME_RESOURCE_REQUIREMENTS: FieldTable = &[("limits", Map), ("requests", Map)];
pub(super) const PERSISTENT_VOLUME_CLAIM_SPEC: FieldTable =
    &[("dataSource", Atomic), ("resources", Struct(VOLUME_RESOURCE_REQUIREMENTS)), ("selector", Atomic)];
pub(super) const PERSISTENT_VOLUME_CLAIM_TEMPLATE: FieldTable =
    &[("metadata", Struct(OBJECT_META)), ("spec", Struct(PERSISTENT_VOLUME_CLAIM_SPEC))];
pub(super) const EPHEMERAL_VOLUME_SOURCE: FieldTable =
    &[("volumeClaimTemplate", Struct(PERSISTENT_VOLUME_CLAIM_TEMPLATE))];
pub(super) const FLEX_VOLUME_SOURCE: FieldTable = &[("options", Map), ("secretRef", Atomic)];
pub(super) const VOLUME: FieldTable = &[
    ("cephfs", Struct(SECRET_REF)),
    ("cinder", Struct(SECRET_REF)),
    ("csi", Struct(CSI_VOLUME_SOURCE)),
    ("ephemeral", Struct(EPHEMERAL_VOLUME_SOURCE)),
    ("flexVolume", Struct(FLEX_VOLUME_SOURCE)),
    ("iscsi", Struct(SECRET_REF)),
    ("rbd", Struct(SECRET_REF)),
    ("scaleIO", Struct(SECRET_REF)),
    ("storageos", Struct(SECRET_REF)),
];
pub(super) const POD_SPEC: FieldTable = &[
    ("affinity", Struct(AFFINITY)),
    ("containers", Keyed(&["name"], CONTAINER)),
    ("ephemeralContainers", Keyed(&["name"], CONTAINER)),
    ("hostAliases", Keyed(&["ip"], &[])),
    ("imagePullSecrets", KeyedAtomic(&["name"])),
    ("initContainers", Keyed(&["name"], CONTAINER)),
    ("nodeSelector", Atomic),
    ("overhead", Map),
    ("resourceClaims", NAMED),
    ("resources", Struct(RESOURCE_REQUIREMENTS)),
    ("schedulingGates", NAMED),
    ("topologySpreadConstraints", Keyed(&["topologyKey", "whenUnsatisfiable"], TOPOLOGY_SPREAD_CONSTRAINT)),
    ("volumes", Keyed(&["name"], VOLUME)),
];
pub(super) const POD_STATUS: FieldTable = &[
    ("allocatedResources", Map),
    ("conditions", CONDITIONS),
    ("podIPs", Keyed(&["ip"], &[])),
    ("resourceClaimStatuses", NAMED),
    ("resources", Struct(RESOURCE_REQUIREMENTS)),
];
pub(super) const POD: FieldTable =
    &[("metadata", Struct(OBJECT_META)), ("spec", Struct(POD_SPEC)), ("status", Struct(POD_STATUS))];
pub(super) const POD_TEMPLATE_SPEC: FieldTable = &[("metadata", Struct(OBJECT_META)), ("spec", Struct(POD_SPEC))];
