//! Which overrides are accepted, the messages of the others, and the templates that result.

use api::my_app::MyAppReason;
use k8s_openapi::DeepMerge;
use k8s_openapi::api::core::v1::PodSpec;
use proptest::prelude::*;
use runtime::cache::Projection;

use super::*;

fn app(overrides: &Value) -> MyApp {
    let metadata = json!({ "name": "web", "namespace": "n", "uid": "u", "generation": 1 });
    let spec = json!({ "image": "i", "podOverrides": overrides });
    MyApp::decode(&json!({ "metadata": metadata, "spec": spec }).to_string()).unwrap()
}

fn rejection(spec: &Value) -> String {
    let rejection = of(&app(&json!({ "spec": spec })), OverrideLimit::All).expect_err("a rejection");
    assert_eq!(rejection.reason, MyAppReason::PodOverridesInvalid);
    rejection.message
}

#[test]
fn an_invalid_pod_spec_is_rejected_with_the_path_of_the_field() {
    let cases = [
        (json!({ "containers": [{ "name": "app", "imagge": "x" }] }), ".containers[0].imagge: unknown field"),
        (json!({ "nodeSelectors": {} }), ".nodeSelectors: unknown field"),
        (json!({ "hostNetwork": "yes" }), ".hostNetwork: invalid type: string \"yes\", expected a boolean"),
        (json!({ "tolerations": {} }), ".tolerations: invalid type: map"),
        (
            json!({ "containers": [{ "name": "app" }, { "name": "b", "image": "i", "ports": [{ "containerPort": "80" }] }] }),
            ".containers[1].ports[0].containerPort: invalid type: string \"80\"",
        ),
        (json!({ "securityContext": { "fsGroup": 1.5 } }), ".securityContext.fsGroup: invalid type: floating point"),
        (json!({ "affinity": null }), ".affinity: null removes nothing"),
        (
            json!({ "volumes": [{ "name": "v", "emptyDir": { "medium": "", "size": 1 } }] }),
            ".volumes[0].emptyDir.size: unknown",
        ),
    ];
    for (spec, message) in cases {
        let why = rejection(&spec);
        assert!(why.starts_with(&format!("spec.podOverrides.spec{message}")), "{why}");
    }
}

/// Each item has few bytes of JSON, and takes a thousand times that memory as a volume.
#[test]
fn a_list_of_too_many_items_is_rejected_with_its_path() {
    let volumes = json!({ "volumes": vec![json!({}); 600] });
    let why = "spec.podOverrides.spec.volumes: 600 items exceed the limit of 512; use fewer";
    assert_eq!(rejection(&volumes), why);
    let within =
        json!({ "containers": [{ "name": "app" }, { "name": "b", "image": "i", "env": vec![json!({}); 513] }] });
    let why = rejection(&within);
    assert!(why.starts_with("spec.podOverrides.spec.containers[1].env: 513 items"), "{why}");
    let most: Vec<Value> = (0..512).map(|at| json!({ "name": format!("v{at}"), "emptyDir": {} })).collect();
    assert!(of(&app(&json!({ "spec": { "volumes": most } })), OverrideLimit::All).is_ok());
}

#[test]
fn overrides_of_selectors_owners_and_names_are_rejected() {
    let cases = [
        (json!({ "restartPolicy": "Never" }), ".restartPolicy: pods of a Deployment"),
        (json!({ "activeDeadlineSeconds": 5 }), ".activeDeadlineSeconds: "),
        (json!({ "ephemeralContainers": [] }), ".ephemeralContainers: "),
        (json!({ "serviceAccount": "a" }), ".serviceAccount: "),
        (json!({ "containers": [{ "image": "i" }] }), ".containers[0].name: Required value"),
        (
            json!({ "containers": [{ "name": "app", "image": "i" }] }),
            ".containers[0].image: set the application's image",
        ),
        (json!({ "containers": [{ "name": "side" }] }), ".containers[0].image: Required value"),
        (json!({ "initContainers": [{ "name": "app", "image": "i" }] }), ".initContainers[0].name: another container"),
        (
            json!({ "containers": [{ "name": "a", "image": "i" }, { "name": "a", "image": "j" }] }),
            ".containers[1].name: another container",
        ),
    ];
    for (spec, message) in cases {
        let why = rejection(&spec);
        assert!(why.starts_with(&format!("spec.podOverrides.spec{message}")), "{why}");
    }
    for metadata in [
        json!({ "labels": { "app.kubernetes.io/name": "x" } }),
        json!({ "labels": { "multi-operator.example.com/whole": "true" } }),
        json!({ "annotations": { "kubectl.kubernetes.io/restartedAt": "x" } }),
        json!({ "annotations": { "multi-operator.example.com/contents": "x" } }),
    ] {
        let why = of(&app(&json!({ "metadata": metadata })), OverrideLimit::All).expect_err("a rejection").message;
        assert!(why.starts_with("spec.podOverrides.metadata."), "{why}");
    }
    let policy = json!({ "spec": { "restartPolicy": "Always" } });
    assert!(of(&app(&policy), OverrideLimit::All).is_ok(), "a default value is allowed");
}

/// Parsed, it would take a hundred times the memory of its text: seven hundred bytes for each item.
#[test]
fn too_large_overrides_are_not_parsed() {
    let junk = |items: usize| json!({ "spec": { "x": vec![json!({ "a": 1 }); items] } });
    let large = app(&junk(8190));
    let text = serde_json::to_string(&large.spec.pod_overrides).unwrap();
    assert_eq!(text, json!({ "spec": junk(8190)["spec"] }).to_string(), "it is kept, and passed on, as it was");
    let why = of(&large, OverrideLimit::All).expect_err("a rejection").message;
    assert!(why.starts_with("spec.podOverrides.spec.x: 8190 items"), "{why}");
    let why = of(&app(&junk(512)), OverrideLimit::All).expect_err("a rejection").message;
    assert!(why.starts_with("spec.podOverrides.spec.x: unknown field"), "{why}");
    let why = of(&app(&junk(8200)), OverrideLimit::All).expect_err("a rejection");
    let message = "spec.podOverrides.spec: 65607 bytes of JSON exceed the limit of 65536; shorten it";
    assert!(why.reason == MyAppReason::PodOverridesInvalid && why.message.starts_with(message), "{why:?}");
    // What the limit or the name of a field forbids is not parsed.
    assert_eq!(
        of(&app(&junk(8200)), OverrideLimit::None).expect_err("a rejection").reason,
        MyAppReason::PodOverridesNotAllowed
    );
    let why = of(&app(&junk(600)), OverrideLimit::Placement).expect_err("a rejection");
    assert!(why.message.starts_with("spec.podOverrides.spec.x is not allowed"), "{}", why.message);
    let deep = format!("{{\"affinity\":{}{}}}", "[".repeat(200), "]".repeat(200));
    let text = json!({ "metadata": { "name": "web", "namespace": "n", "uid": "u", "generation": 1 },
        "spec": { "image": "i", "podOverrides": { "spec": 0 } } });
    let deep = MyApp::decode(&text.to_string().replace("\"spec\":0", &format!("\"spec\":{deep}"))).unwrap();
    assert!(of(&deep, OverrideLimit::All).expect_err("a rejection").message.contains("recursion limit exceeded"));
}

#[test]
fn the_limit_of_overrides_is_enforced() {
    let placed = json!({
        "metadata": { "labels": { "team": "a" }, "annotations": { "prometheus.io/scrape": "true" } },
        "spec": { "nodeSelector": { "disk": "ssd" }, "tolerations": [{ "operator": "Exists" }], "affinity": {},
            "topologySpreadConstraints": [], "priorityClassName": "high", "runtimeClassName": "gvisor", "schedulerName": "s" },
    });
    let taken = |overrides: &Value| {
        [OverrideLimit::None, OverrideLimit::Placement, OverrideLimit::All]
            .map(|limit| of(&app(overrides), limit).is_ok())
    };
    assert_eq!(taken(&placed), [false, true, true]);
    for more in [
        json!({ "spec": { "hostNetwork": true } }),
        json!({ "spec": { "containers": [{ "name": "side", "image": "i" }] } }),
        json!({ "spec": { "nodeName": "control-plane" } }),
        json!({ "spec": { "securityContext": { "runAsUser": 0 } } }),
        json!({ "metadata": { "annotations": { "container.apparmor.security.beta.kubernetes.io/app": "unconfined" } } }),
    ] {
        assert_eq!(taken(&more), [false, false, true], "{more}");
    }
    let why = of(&app(&json!({ "spec": { "volumes": [] } })), OverrideLimit::Placement).expect_err("a rejection");
    assert_eq!(why.reason, MyAppReason::PodOverridesNotAllowed);
    assert!(why.message.starts_with("spec.podOverrides.spec.volumes is not allowed: "), "{}", why.message);
    assert!(of(&app(&Value::Null), OverrideLimit::None).is_ok_and(|none| none.is_none()));
    for limit in [OverrideLimit::None, OverrideLimit::Placement, OverrideLimit::All] {
        assert_eq!(limit.to_string().parse(), Ok(limit));
    }
    assert!("some".parse::<OverrideLimit>().is_err_and(|why| why.contains("none, placement or all")));
}

#[test]
fn a_partial_item_keeps_the_other_fields() {
    let mut template = json!({ "spec": { "containers": [{
        "name": "app", "image": "i", "volumeMounts": [{ "name": "tmp", "mountPath": "/tmp" }],
        "readinessProbe": { "httpGet": { "port": 80 } },
    }] } });
    let over = json!({ "spec": { "containers": [{
        "name": "app", "volumeMounts": [{ "mountPath": "/tmp", "subPath": "a" }],
        "readinessProbe": { "httpGet": { "path": "/ready" } },
    }] } });
    merge(&mut template, &over);
    let container = &template["spec"]["containers"][0];
    assert_eq!(container["volumeMounts"], json!([{ "name": "tmp", "mountPath": "/tmp", "subPath": "a" }]));
    assert_eq!(container["readinessProbe"]["httpGet"], json!({ "port": 80, "path": "/ready" }));
    assert_eq!(container["image"], "i");
}

#[test]
fn a_merged_template_is_normalized_as_by_the_api_server() {
    let overrides = json!({ "spec": {
        "serviceAccountName": "other", "hostNetwork": false,
        "containers": [{ "name": "side", "image": "i", "stdin": false, "resources": { "limits": { "cpu": 1 } },
            "env": [{ "name": "IP", "valueFrom": { "fieldRef": { "fieldPath": "status.podIP" } } }] }],
    } });
    let over = of(&app(&overrides), OverrideLimit::All).unwrap().unwrap();
    let mut template = json!({ "spec": { "serviceAccountName": "one", "serviceAccount": "one", "containers": [] } });
    merge(&mut template, &over);
    let spec = &template["spec"];
    assert_eq!([&spec["serviceAccountName"], &spec["serviceAccount"]], ["other", "other"]);
    assert!(spec.get("hostNetwork").is_none() && spec["containers"][0].get("stdin").is_none());
    assert_eq!(spec["containers"][0]["resources"]["limits"]["cpu"], "1");
    assert_eq!(spec["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
}

/// The API server identifies ports by both, and rejects two with the same number and protocol at the next apply.
#[test]
fn ports_of_the_same_number_are_distinguished_by_protocol() {
    let merged = |ours: Value, over: Value| {
        let mut template = json!({ "spec": { "containers": [{ "name": "app", "ports": ours }] } });
        merge(&mut template, &json!({ "spec": { "containers": [{ "name": "app", "ports": over }] } }));
        let ports = template["spec"]["containers"][0]["ports"].as_array().unwrap().clone();
        let word = |port: &Value| {
            format!("{}{}", port["protocol"].as_str().unwrap_or("TCP"), port["hostPort"].as_i64().unwrap_or(0))
        };
        ports.iter().map(word).collect::<Vec<_>>()
    };
    let both = json!([{ "containerPort": 53 }, { "containerPort": 53, "protocol": "UDP" }]);
    assert_eq!(
        merged(both.clone(), json!([{ "containerPort": 53, "protocol": "UDP", "hostPort": 5 }])),
        ["TCP0", "UDP5"]
    );
    assert_eq!(merged(both.clone(), json!([{ "containerPort": 53, "hostPort": 5 }])), ["TCP5", "UDP0"]);
    assert_eq!(merged(json!([]), both.clone()), ["TCP0", "UDP0"]);
    let turned = json!([both[1], both[0]]);
    assert_eq!(merged(json!([]), turned.clone()), ["UDP0", "TCP0"]);
    assert_eq!(merged(both, turned), ["TCP0", "UDP0"]);
    let udp = json!([{ "containerPort": 53, "protocol": "UDP" }]);
    assert_eq!(merged(udp, json!([{ "containerPort": 53, "hostPort": 5 }])), ["UDP5"], "the only one of that number");
}

/// Parts of pods with complete items, each in two variants.
fn parts() -> Vec<Value> {
    let both = |of: fn(u8) -> Value| [of(1), of(2)];
    let all: [fn(u8) -> Value; 14] = [
        |n| json!({ "containers": [{ "name": "app", "image": format!("i:{n}"), "command": [format!("c{n}")] }] }),
        |n| json!({ "containers": [{ "name": format!("c{n}"), "image": "i", "args": ["a"] }] }),
        |n| json!({ "containers": [{ "name": "app", "env": [{ "name": "A", "value": n.to_string() }, { "name": format!("B{n}") }] }] }),
        |n| json!({ "containers": [{ "name": "app", "ports": [{ "containerPort": 80, "name": format!("p{n}") }, { "containerPort": 80 + i32::from(n) }] }] }),
        |n| {
            json!({ "containers": [{ "name": "app", "volumeMounts": [{ "name": "v", "mountPath": "/v", "subPath": n.to_string() }, { "name": "w", "mountPath": format!("/w{n}") }],
            "volumeDevices": [{ "name": "d", "devicePath": "/dev/a" }] }] })
        },
        |n| {
            json!({ "containers": [{ "name": "app", "resources": { "limits": { "cpu": n.to_string(), format!("x{n}"): "1" } },
            "securityContext": { "capabilities": { "add": [format!("C{n}")] } }, "envFrom": [{ "prefix": n.to_string() }] }] })
        },
        |n| json!({ "initContainers": [{ "name": "init", "image": format!("i:{n}"), "restartPolicy": "Always" }] }),
        |n| json!({ "volumes": [{ "name": "v", "configMap": { "name": n.to_string() } }, { "name": format!("v{n}"), "emptyDir": {} }] }),
        |n| json!({ "imagePullSecrets": [{ "name": format!("s{n}") }], "schedulingGates": [{ "name": "g" }] }),
        |n| json!({ "tolerations": [{ "key": n.to_string(), "operator": "Exists" }], "readinessGates": [{ "conditionType": n.to_string() }] }),
        |n| json!({ "topologySpreadConstraints": [{ "topologyKey": "zone", "maxSkew": n, "whenUnsatisfiable": "DoNotSchedule" }] }),
        |n| json!({ "hostAliases": [{ "ip": "10.0.0.1", "hostnames": [n.to_string()] }], "resourceClaims": [{ "name": "c", "resourceClaimName": n.to_string() }] }),
        |n| {
            json!({ "affinity": { "nodeAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [{ "weight": n, "preference": {} }] },
            "podAntiAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": [{ "topologyKey": n.to_string() }] } } })
        },
        |n| {
            json!({ "securityContext": { "fsGroup": n, "sysctls": [{ "name": "a", "value": n.to_string() }], "supplementalGroups": [n] },
            "dnsConfig": { "nameservers": [n.to_string()], "searches": [n.to_string()] } })
        },
    ];
    all.into_iter().flat_map(both).collect()
}

fn typed(value: &Value) -> PodSpec {
    serde_json::from_value(value.clone()).unwrap()
}

fn spec() -> impl Strategy<Value = PodSpec> {
    prop::sample::subsequence(parts(), 0..10).prop_shuffle().prop_map(|parts| {
        parts.iter().fold(PodSpec::default(), |mut spec, part| {
            spec.merge_from(typed(part));
            spec
        })
    })
}

proptest! {
    #![proptest_config(seed::properties!(200))]

    /// For complete items, the merge has the same result as that of k8s-openapi, which uses Kubernetes' merge keys.
    #[test]
    fn items_are_merged_by_the_keys_of_kubernetes(ours in spec(), over in spec()) {
        let mut written = json!({ "spec": ours });
        merge::put("", &mut written, &json!({ "spec": over }));
        let mut merged = ours;
        merged.merge_from(over);
        prop_assert_eq!(&written["spec"], &json!(merged));
    }
}
