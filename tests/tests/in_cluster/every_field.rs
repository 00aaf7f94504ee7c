//! Every field of every child that the API server's schemas know, edited, added and removed by others in each way: the operator
//! reverts it at once, by one write, or docs/my-app.md, "Field ownership", lists it as foreign, and it stays. HTTPRoutes have a test
//! in gateways.

use api::my_app::MyApp;
use api::sample::Sample;
use e2e::sweep::{Child, of_others, swept};

use crate::manifest::{my_app, sample};

const BARE: &str = "{replicas: 0, image: nginx:1.25, port: 80, disruptionBudget: {minAvailable: 1}}";

/// A spec with every field that becomes one of the Deployment.
const FULL: &str = "{replicas: 0, image: nginx:1.25, command: [nginx], args: [-g, daemon off;], workingDir: /tmp, \
    imagePullPolicy: Always, imagePullSecrets: [{name: pull}], ports: [{name: http, port: 80, targetPort: 8080}], \
    env: [{name: A, value: x}], envFrom: [{prefix: P_, configMapRef: {name: map, optional: true}}], \
    files: [{mountPath: /files, configMap: {name: map, optional: true, items: [{key: a, path: b}]}}], \
    resources: {requests: {cpu: 10m}, limits: {memory: 64Mi}}, preStop: {sleep: {seconds: 1}}, \
    probes: {readiness: {httpGet: {port: 8080}}, liveness: {tcpSocket: {port: 8080}}, startup: {exec: {command: [/bin/true]}}}, \
    terminationGracePeriodSeconds: 5, serviceAccountName: web, automountToken: true, progressDeadlineSeconds: 60, \
    strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, minReadySeconds: 1, \
    revisionHistoryLimit: 3, security: Restricted, service: {type: ClusterIP, annotations: {pool: blue}}}";

/// Of a Deployment: `more` is of others, too.
fn deployment(spec: &str, more: &[&'static str]) -> Child {
    let foreign = of_others(&[
        "spec.template.metadata",
        "spec.template.spec",
        "spec.template.spec.containers[+]",
        "spec.template.spec.containers[0].env[+]",
        "spec.template.spec.containers[0].volumeMounts[+]",
        "spec.template.spec.containers[0].lifecycle.postStart",
        "spec.template.spec.containers[0].securityContext.procMount",
        "spec.template.spec.containers[0].securityContext.readOnlyRootFilesystem",
        "spec.template.spec.containers[0].securityContext.runAsGroup",
        "spec.template.spec.containers[0].securityContext.runAsNonRoot",
        "spec.template.spec.containers[0].securityContext.runAsUser",
        "spec.template.spec.containers[0].securityContext.seLinuxOptions",
        "spec.template.spec.containers[0].securityContext.windowsOptions",
        "spec.template.spec.containers[0].startupProbe.terminationGracePeriodSeconds",
        "spec.template.spec.containers[0].livenessProbe.terminationGracePeriodSeconds",
        "spec.template.spec.containers[0].stdin",
        "spec.template.spec.containers[0].stdinOnce",
        "spec.template.spec.containers[0].terminationMessagePath",
        "spec.template.spec.containers[0].terminationMessagePolicy",
        "spec.template.spec.containers[0].tty",
        "spec.template.spec.topologySpreadConstraints[0].nodeAffinityPolicy",
        "spec.template.spec.topologySpreadConstraints[0].nodeTaintsPolicy",
    ]);
    let owned = vec![
        "spec.template.metadata.labels.app.kubernetes.io/name",
        "spec.template.metadata.labels.app.kubernetes.io/instance",
        "spec.template.metadata.labels.app.kubernetes.io/managed-by",
        "spec.template.metadata.labels.multi-operator.example.com/owner-kind",
        "spec.template.metadata.annotations.kubectl.kubernetes.io/default-container",
        "spec.template.spec.automountServiceAccountToken",
        "spec.template.spec.containers",
        "spec.template.spec.imagePullSecrets[0]",
        "spec.template.spec.os",
        "spec.template.spec.securityContext.runAsNonRoot",
        "spec.template.spec.securityContext.seccompProfile",
        "spec.template.spec.serviceAccount",
        "spec.template.spec.serviceAccountName",
        "spec.template.spec.terminationGracePeriodSeconds",
        "spec.template.spec.topologySpreadConstraints[0]",
        "spec.template.spec.volumes[0]",
    ];
    let (manifest, foreign) = (my_app("web", spec), [&foreign, more].concat());
    Child { group: "apps", version: "v1", kind: "Deployment", manifest, foreign, owned, ..Child::default() }
}

#[tokio::test]
#[ignore = "scripts/test --all long: some thousand edits"]
async fn of_a_bare_deployment() {
    let more = [
        "spec.strategy",
        "spec.template.spec.containers[0].imagePullPolicy",
        "spec.template.spec.containers[0].ports[0].name",
    ];
    swept::<MyApp>(&deployment(BARE, &more)).await;
}

#[tokio::test]
#[ignore = "scripts/test --all long: some thousand edits"]
async fn of_a_deployment_with_all_that_a_spec_can_say() {
    swept::<MyApp>(&deployment(FULL, &[])).await;
}

/// Of these, the rest of a Deployment is as of the others.
#[tokio::test]
#[ignore = "scripts/test --all long: some hundred edits"]
async fn of_volumes_overrides_and_contents() {
    let one = |field: &str| format!("{{replicas: 0, image: nginx:1.25, {field}}}");
    let volumes = [
        (
            "files: [{mountPath: /files, secret: {name: keys, optional: true, items: [{key: a, path: b}]}}]",
            "spec.template.spec.volumes[0].secret",
        ),
        (
            "files: [{mountPath: /files, projected: [{configMap: {name: map, optional: true}}]}]",
            "spec.template.spec.volumes[0].projected",
        ),
        ("scratch: [{mountPath: /scratch, sizeLimit: 1Mi}]", "spec.template.spec.volumes[0].emptyDir"),
        (
            "persistentVolumeClaims: [{name: pictures, mountPath: /pictures}]",
            "spec.template.spec.volumes[0].persistentVolumeClaim",
        ),
    ];
    for (field, place) in volumes {
        swept::<MyApp>(&Child { only: vec![place], ..deployment(&one(field), &[]) }).await;
    }
    let restart_on = one("restartOn: [{configMapRef: {name: map, optional: true}}]");
    let contents = "spec.template.metadata.annotations.multi-operator.example.com/contents";
    let child = deployment(&restart_on, &[]);
    let owned = [&child.owned[..], &[contents]].concat();
    swept::<MyApp>(&Child { owned, only: vec![contents], ..child }).await;
    let overrides = one("podOverrides: {metadata: {labels: {team: shop}, annotations: {note: x}}, \
        spec: {nodeSelector: {disk: ssd}, tolerations: [{key: dedicated, operator: Exists}]}}");
    let child = deployment(&overrides, &[]);
    let only = vec![
        "spec.template.metadata.labels.team",
        "spec.template.metadata.annotations.note",
        "spec.template.spec.nodeSelector",
        "spec.template.spec.tolerations",
    ];
    let owned = [&child.owned[..], &only].concat();
    swept::<MyApp>(&Child { owned, only, ..child }).await;
}

#[tokio::test]
#[ignore = "scripts/test --all long: some hundred edits"]
async fn of_services() {
    for spec in [BARE, FULL] {
        let foreign = of_others(&[
            "spec.clusterIP",
            "spec.clusterIPs",
            "spec.ipFamilies",
            "spec.ipFamilyPolicy",
            "spec.externalTrafficPolicy",
            "spec.internalTrafficPolicy",
            "spec.trafficDistribution",
            "spec.sessionAffinity",
            "spec.sessionAffinityConfig",
            "spec.externalIPs",
            "spec.externalName",
            "spec.loadBalancerIP",
            "spec.publishNotReadyAddresses",
            "spec.ports[0].appProtocol",
        ]);
        let manifest = my_app("web", spec);
        let owned = vec!["metadata.annotations.pool"];
        swept::<MyApp>(&Child {
            group: "",
            version: "v1",
            kind: "Service",
            manifest,
            foreign,
            owned,
            ..Child::default()
        })
        .await;
    }
}

#[tokio::test]
#[ignore = "scripts/test --all long: some hundred edits"]
async fn of_budgets_ingresses_autoscalers_and_config_maps() {
    let (policy, networking) = ("policy", "networking.k8s.io");
    let (budget, ingress, scaler) = ("PodDisruptionBudget", "Ingress", "HorizontalPodAutoscaler");
    let manifest = my_app("web", BARE);
    let foreign = of_others(&[]);
    swept::<MyApp>(&Child { group: policy, version: "v1", kind: budget, manifest, foreign, ..Child::default() }).await;

    let route = "{host: web.example.com, path: /shop, ingressClassName: none, tlsSecret: cert}";
    let manifest = my_app("web", &format!("{{replicas: 0, image: nginx:1.25, port: 80, route: {route}}}"));
    let foreign = of_others(&[]);
    swept::<MyApp>(&Child { group: networking, version: "v1", kind: ingress, manifest, foreign, ..Child::default() })
        .await;

    let scaled = "{image: nginx:1.25, autoscaling: {min: 1, max: 2, cpu: 80%}}";
    let foreign = of_others(&["spec.behavior"]);
    let manifest = my_app("web", scaled);
    swept::<MyApp>(&Child { group: "autoscaling", version: "v2", kind: scaler, manifest, foreign, ..Child::default() })
        .await;

    let foreign = of_others(&["data.sweep", "binaryData.sweep", "immutable"]);
    let manifest = sample("web", "hello");
    swept::<Sample>(&Child { group: "", version: "v1", kind: "ConfigMap", manifest, foreign, ..Child::default() })
        .await;
}
