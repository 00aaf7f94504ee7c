//! The kinds that the sequences are about, and what is written to their objects. All values are JSON.
//!
//! Nothing starts a pod: workloads have no replicas, and Deployments are paused besides.

use serde_json::Value;

mod workloads;
mod written;

use written::EMPTY;
pub(super) use written::{Field, Subject};

/// What is changed in the objects of each kind.
pub(super) const METADATA: &[Field] = &[
    ("/metadata/labels/tier", &[r#""a""#, r#""b""#, "null"]),
    ("/metadata/annotations/note", &[r#""1""#, r#""2""#, "null"]),
    ("/metadata/finalizers", &[r#"["example.com/hold"]"#, r#"["example.com/hold", "example.com/more"]"#, "null"]),
];

const LOAD_BALANCER: Field = (
    "/status/loadBalancer",
    &[r#"{ "ingress": [{ "ip": "192.0.2.1" }] }"#, r#"{ "ingress": [{ "hostname": "x.example.com" }] }"#],
);

const CONDITIONS: Field = (
    "/status/conditions",
    &[
        r#"[{ "type": "Ready", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" }]"#,
        r#"[{ "type": "Ready", "status": "False", "reason": "Failed", "message": "no", "lastTransitionTime": "2026-01-01T00:00:01Z" },
            { "type": "Stalled", "status": "Unknown", "reason": "Failed", "message": "x", "lastTransitionTime": "2026-01-01T00:00:00Z" }]"#,
    ],
);

/// A condition without what each must have.
const BAD_CONDITIONS: Field = ("/status/conditions", &[r#"[{ "type": "Ready", "status": "Maybe" }]"#]);

/// All kinds.
pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        plural: "configmaps",
        kind: "ConfigMap",
        bases: &[r#"{ "data": { "a": "1" } }"#, r#"{ "data": { "a": "2", "b": "" }, "binaryData": { "x": "AAEC" } }"#],
        fields: &[
            ("/data/a", &[r#""1""#, r#""2""#, "null"]),
            ("/data/b", &[r#""1""#, r#""x <&> y""#, "null"]),
            ("/data/a", &[r#""1""#, r#""3""#]),
            ("/binaryData/x", &[r#""AAEC""#, r#""AAED""#, "null"]),
            ("/immutable", &["true", "false", "null"]),
        ],
        ..EMPTY
    },
    Subject {
        plural: "secrets",
        kind: "Secret",
        bases: &[r#"{ "type": "Opaque", "data": { "a": "MQ==" } }"#, r#"{ "stringData": { "a": "1", "b": "2" } }"#],
        // Nothing applies stringData: the fields that it becomes would be no one's.
        always: r#"{ "stringData": null }"#,
        fields: &[
            ("/data/a", &[r#""MQ==""#, r#""Mg==""#, "null"]),
            ("/data/b", &[r#""MQ==""#, r#""Mg==""#, "null"]),
            ("/stringData/c", &[r#""1""#, r#""2""#]),
            ("/immutable", &["true", "null"]),
        ],
        refused: &[("/type", &[r#""kubernetes.io/tls""#])],
        fixed: &[("/type", &[r#""example.com/other""#])],
        ..EMPTY
    },
    Subject {
        plural: "services",
        kind: "Service",
        bases: &[
            r#"{ "spec": { "selector": { "app": "x" }, "ports": [{ "name": "http", "port": 80 }] } }"#,
            r#"{ "spec": { "clusterIP": "None", "selector": { "app": "x" }, "ports": [{ "port": 80, "targetPort": "http" }] } }"#,
        ],
        fields: &[
            (
                "/spec/ports",
                &[
                    r#"[{ "name": "http", "port": 80 }]"#,
                    r#"[{ "name": "http", "port": 80, "targetPort": 8080 }]"#,
                    r#"[{ "name": "http", "port": 80 }, { "name": "dns", "port": 53, "protocol": "UDP" }]"#,
                    r#"[{ "name": "other", "port": 81, "targetPort": "web" }]"#,
                ],
            ),
            ("/spec/selector", &[r#"{ "app": "x" }"#, r#"{ "app": "y", "tier": "z" }"#]),
            ("/spec/publishNotReadyAddresses", &["true", "false", "null"]),
            ("/spec/internalTrafficPolicy", &[r#""Local""#, r#""Cluster""#]),
            ("/spec/sessionAffinity", &[r#""ClientIP""#, r#""None""#]),
        ],
        refused: &[
            ("/spec/ports/0/port", &["0", "70000"]),
            ("/spec/ports/0/protocol", &[r#""ICMP""#]),
            ("/spec/ports", &["null"]),
        ],
        fixed: &[("/spec/clusterIP", &[r#""None""#])],
        created_by_updates: true,
        status: &[CONDITIONS],
        ..EMPTY
    },
    Subject {
        plural: "ingresses",
        root: "/apis/networking.k8s.io/v1",
        api_version: "networking.k8s.io/v1",
        kind: "Ingress",
        bases: &[
            r#"{ "spec": { "ingressClassName": "conformance", "rules": [{ "host": "x.example.com", "http": { "paths": [
            { "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "x", "port": { "number": 80 } } } }] } }] } }"#,
        ],
        fields: &[
            (
                "/spec/rules",
                &[
                    r#"[{ "host": "x.example.com", "http": { "paths": [{ "path": "/", "pathType": "Prefix",
                        "backend": { "service": { "name": "x", "port": { "number": 81 } } } }] } }]"#,
                    r#"[{ "host": "y.example.com", "http": { "paths": [{ "path": "/a", "pathType": "Exact",
                        "backend": { "service": { "name": "y", "port": { "name": "http" } } } }] } }]"#,
                ],
            ),
            ("/spec/tls", &[r#"[{ "hosts": ["x.example.com"], "secretName": "cert" }]"#, "null"]),
            ("/spec/ingressClassName", &[r#""conformance""#, r#""other""#]),
        ],
        refused: &[("/spec/rules/0/http/paths/0/pathType", &["null"]), ("/spec/rules", &["null"])],
        status: &[LOAD_BALANCER],
        ..EMPTY
    },
    Subject {
        plural: "persistentvolumeclaims",
        kind: "PersistentVolumeClaim",
        kept: true,
        bases: &[r#"{ "spec": { "storageClassName": "conformance", "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } } } }"#],
        fields: &[("/spec/resources/requests/storage", &[r#""1Gi""#, r#""1024Mi""#])],
        refused: &[
            ("/spec/accessModes", &["null"]),
            ("/spec/resources", &["null"]),
            ("/spec/resources/requests/storage", &[r#""-1Gi""#]),
        ],
        fixed: &[
            ("/spec/resources/requests/storage", &[r#""2Gi""#, r#""1Mi""#]),
            ("/spec/accessModes", &[r#"["ReadOnlyMany"]"#]),
            ("/spec/storageClassName", &[r#""other""#]),
        ],
        ..EMPTY
    },
    Subject {
        plural: "samples",
        root: "/apis/example.com/v1alpha1",
        api_version: "example.com/v1alpha1",
        kind: "Sample",
        custom: true,
        bases: &[r#"{ "testString": "a" }"#, "{}"],
        fields: &[("/testString", &[r#""a""#, r#""b""#, r#""""#, "null"])],
        refused: &[("/testString", &["1", r#"["a"]"#])],
        status: &[CONDITIONS, BAD_CONDITIONS, ("/status/observedGeneration", &["1", "2", "null"])],
        ..EMPTY
    },
    Subject {
        plural: "myapps",
        root: "/apis/example.com/v1",
        api_version: "example.com/v1",
        kind: "MyApp",
        custom: true,
        scale: true,
        bases: &[
            r#"{ "spec": { "image": "nginx:1.25", "replicas": 0 } }"#,
            r#"{ "spec": { "image": "nginx:1.26", "ports": [{ "name": "http", "port": 80 }] } }"#,
        ],
        fields: &[
            ("/spec/image", &[r#""nginx:1.25""#, r#""nginx:1.26""#]),
            ("/spec/replicas", &["0", "2", "null"]),
            (
                "/spec/env",
                &[r#"[{ "name": "A", "value": "1" }]"#, r#"[{ "name": "A", "value": "2" }, { "name": "B" }]"#, "null"],
            ),
            ("/spec/env", &[r#"[{ "name": "C", "value": "1" }]"#]),
            ("/spec/args", &[r#"["x"]"#, r#"["x", "y"]"#, "[]"]),
            ("/spec/paused", &["true", "false", "null"]),
            ("/spec/resources", &[r#"{ "requests": { "cpu": "100m" } }"#, "null"]),
        ],
        refused: &[
            ("/spec/image", &["null", "7"]),
            ("/spec", &["null"]),
            ("/spec/replicas", &["5000", "-1", r#""two""#]),
            ("/spec/imagePullPolicy", &[r#""Sometimes""#]),
            ("/spec/env", &[r#"[{ "value": "1" }]"#]),
        ],
        status: &[
            CONDITIONS,
            ("/status/replicas", &["0", "1"]),
            ("/status/phase", &[r#""Running""#, r#""Nope""#, "null"]),
        ],
        ..EMPTY
    },
    workloads::DEPLOYMENT,
    workloads::STATEFUL_SET,
    workloads::DISRUPTION_BUDGET,
    workloads::AUTOSCALER,
];

/// A value of these tables.
pub(super) fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_values_are_json_and_no_workload_has_replicas() {
        for subject in SUBJECTS {
            let fields = [METADATA, subject.fields, subject.refused, subject.fixed, subject.status].concat();
            let values = fields.iter().flat_map(|(_, values)| values.iter());
            for json in values.chain(subject.bases).chain([&subject.always]) {
                let parsed: Result<Value, _> = serde_json::from_str(json);
                assert!(parsed.is_ok(), "{}: {json}", subject.plural);
            }
            if matches!(subject.plural, "deployments" | "statefulsets") {
                let written = subject.bases.iter().chain([&subject.always]);
                assert!(written.clone().all(|json| parsed(json)["spec"]["replicas"] == 0), "{}", subject.plural);
                assert!(
                    fields.iter().all(|(pointer, _)| !["/spec", "/spec/replicas", "/spec/paused"].contains(pointer))
                );
            }
        }
    }
}
