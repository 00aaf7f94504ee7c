//! Workloads and what belongs to them: controllers of a real cluster write the status of all of these.

use super::written::{EMPTY, Field, Subject};

const CONTAINERS: Field = (
    "/spec/template/spec/containers",
    &[
        r#"[{ "name": "main", "image": "nginx:1.25", "env": [{ "name": "A", "value": "1" }] }]"#,
        r#"[{ "name": "main", "image": "nginx:1.26", "ports": [{ "containerPort": 80, "name": "http" }] }]"#,
        r#"[{ "name": "main", "image": "nginx:1.25", "resources": { "requests": { "cpu": "100m", "memory": "0.5Gi" } } },
            { "name": "side", "image": "nginx", "args": ["x"] }]"#,
        r#"[{ "name": "main", "image": "nginx:1.25", "readinessProbe": { "httpGet": { "path": "/", "port": 80 } } }]"#,
    ],
);
const NOTE: Field = ("/spec/template/metadata/annotations/note", &[r#""1""#, r#""2""#, "null"]);
const GRACE: Field = ("/spec/template/spec/terminationGracePeriodSeconds", &["10", "null"]);
const MIN_READY: Field = ("/spec/minReadySeconds", &["0", "5", "null"]);
const HISTORY: Field = ("/spec/revisionHistoryLimit", &["3", "0", "null"]);

/// A template or a selector that is not one.
const OTHER_LABEL: Field = ("/spec/template/metadata/labels/app", &[r#""other""#]);
const NO_CONTAINERS: Field = ("/spec/template/spec/containers", &["null", "[]"]);
const NO_IMAGE: Field = ("/spec/template/spec/containers/0/image", &["null"]);
const NO_SELECTOR: Field = ("/spec/selector", &["null"]);
const OTHER_SELECTOR: Field = ("/spec/selector/matchLabels/more", &[r#""y""#]);

pub(super) const DEPLOYMENT: Subject = Subject {
    plural: "deployments",
    root: "/apis/apps/v1",
    api_version: "apps/v1",
    kind: "Deployment",
    contended: true,
    bases: &[r#"{ "spec": { "replicas": 0, "paused": true, "selector": { "matchLabels": { "app": "x" } },
        "template": { "metadata": { "labels": { "app": "x" } },
                      "spec": { "containers": [{ "name": "main", "image": "nginx:1.25" }] } } } }"#],
    always: r#"{ "spec": { "replicas": 0, "paused": true } }"#,
    fields: &[
        CONTAINERS,
        CONTAINERS,
        NOTE,
        GRACE,
        MIN_READY,
        HISTORY,
        ("/spec/progressDeadlineSeconds", &["60", "null"]),
        (
            "/spec/strategy",
            &[
                r#"{ "type": "Recreate" }"#,
                r#"{ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } }"#,
                r#"{ "type": "RollingUpdate" }"#,
            ],
        ),
    ],
    refused: &[
        OTHER_LABEL,
        NO_CONTAINERS,
        NO_IMAGE,
        NO_SELECTOR,
        ("/spec/minReadySeconds", &["-1"]),
        ("/spec/strategy", &[r#"{ "type": "Recreate", "rollingUpdate": { "maxSurge": 1 } }"#]),
    ],
    fixed: &[OTHER_SELECTOR],
    ..EMPTY
};

pub(super) const STATEFUL_SET: Subject = Subject {
    plural: "statefulsets",
    root: "/apis/apps/v1",
    api_version: "apps/v1",
    kind: "StatefulSet",
    contended: true,
    bases: &[
        r#"{ "spec": { "replicas": 0, "serviceName": "x", "selector": { "matchLabels": { "app": "x" } },
            "template": { "metadata": { "labels": { "app": "x" } },
                          "spec": { "containers": [{ "name": "main", "image": "nginx:1.25" }] } } } }"#,
        r#"{ "spec": { "replicas": 0, "serviceName": "x", "selector": { "matchLabels": { "app": "x" } },
            "template": { "metadata": { "labels": { "app": "x" } },
                          "spec": { "containers": [{ "name": "main", "image": "nginx:1.25" }] } },
            "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"],
                "storageClassName": "conformance", "resources": { "requests": { "storage": "1Gi" } } } }] } }"#,
    ],
    always: r#"{ "spec": { "replicas": 0 } }"#,
    fields: &[
        CONTAINERS,
        CONTAINERS,
        NOTE,
        GRACE,
        MIN_READY,
        HISTORY,
        ("/spec/updateStrategy", &[r#"{ "type": "OnDelete" }"#, r#"{ "rollingUpdate": { "partition": 1 } }"#]),
    ],
    refused: &[OTHER_LABEL, NO_CONTAINERS, NO_IMAGE, NO_SELECTOR],
    fixed: &[OTHER_SELECTOR, ("/spec/serviceName", &[r#""y""#]), ("/spec/podManagementPolicy", &[r#""Parallel""#])],
    ..EMPTY
};

pub(super) const DISRUPTION_BUDGET: Subject = Subject {
    plural: "poddisruptionbudgets",
    root: "/apis/policy/v1",
    api_version: "policy/v1",
    kind: "PodDisruptionBudget",
    contended: true,
    bases: &[r#"{ "spec": { "maxUnavailable": 1, "selector": { "matchLabels": { "app": "x" } } } }"#],
    fields: &[
        ("/spec/maxUnavailable", &["1", "2", r#""50%""#]),
        ("/spec/unhealthyPodEvictionPolicy", &[r#""AlwaysAllow""#, "null"]),
        ("/spec/selector", &[r#"{ "matchLabels": { "app": "x" } }"#, r#"{ "matchLabels": { "app": "y" } }"#]),
    ],
    refused: &[("/spec/maxUnavailable", &["-1", r#""150%""#]), ("/spec/minAvailable", &["1"])],
    ..EMPTY
};

pub(super) const AUTOSCALER: Subject = Subject {
    plural: "horizontalpodautoscalers",
    root: "/apis/autoscaling/v2",
    api_version: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    contended: true,
    bases: &[r#"{ "spec": { "maxReplicas": 3,
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "none-of-these" } } }"#],
    fields: &[
        ("/spec/maxReplicas", &["3", "4"]),
        ("/spec/minReplicas", &["1", "2", "null"]),
        (
            "/spec/metrics",
            &[
                r#"[{ "type": "Resource",
                      "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 60 } } }]"#,
                r#"[{ "type": "Resource",
                      "resource": { "name": "memory", "target": { "type": "AverageValue", "averageValue": "1024Mi" } } }]"#,
            ],
        ),
        ("/spec/behavior", &[r#"{ "scaleDown": { "stabilizationWindowSeconds": 60 } }"#, "null"]),
    ],
    refused: &[("/spec/maxReplicas", &["0"]), ("/spec/minReplicas", &["9"]), ("/spec/scaleTargetRef/name", &["null"])],
    ..EMPTY
};
