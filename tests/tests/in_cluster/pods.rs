//! What a MyApp says of its container, its files and volumes, and how its pods follow each other.

use e2e::kubectl::Answer;
use e2e::namespace::Namespace;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::manifest::my_app;
use crate::running::running_as;

async fn pods(ns: &Namespace) -> Vec<Pod> {
    let owned = ListParams::default().labels("app.kubernetes.io/instance=web");
    ns.api::<Pod>().list(&owned).await.expect("pods can be listed").items
}

async fn inside(ns: &Namespace, command: &str) -> Answer {
    ns.kubectl(&["exec", "deployment/web", "--", "sh", "-c", command]).await
}

#[tokio::test]
async fn the_container_runs_as_the_spec_says() {
    let ns = Namespace::new("container").await;
    drop(ns.kubectl(&["create", "configmap", "settings", "--from-literal=color=blue"]).await.ok());
    drop(ns.kubectl(&["create", "secret", "generic", "keys", "--from-literal=token=hush"]).await.ok());
    let spec = r#"
  replicas: 1
  image: nginx:1.25
  command: [sh, -c]
  args: ['echo "$LIMIT $(cat /etc/app/color) $(pwd)" > /scratch/said; exec nginx -g "daemon off;"']
  workingDir: /usr
  env:
  - {name: LIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
  resources: {limits: {memory: 64Mi}}
  ports:
  - {name: http, port: 8080, targetPort: 80}
  - {name: dns, port: 53, protocol: UDP}
  files:
  - {mountPath: /etc/app, configMap: {name: settings}}
  - {mountPath: /etc/keys, defaultMode: 256, secret: {name: keys, items: [{key: token, path: a/token}]}}
  - mountPath: /etc/pod
    projected:
    - downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}
  scratch:
  - {mountPath: /scratch, sizeLimit: 16Mi}
  preStop: {sleep: {seconds: 1}}
  terminationGracePeriodSeconds: 5
  serviceAccountName: default
  automountToken: true
"#;
    ns.apply(&my_app("web", spec)).await;
    running_as(&ns, 1, 1).await;
    assert_eq!(inside(&ns, "cat /scratch/said").await.ok().trim(), "64 blue /usr");
    assert_eq!(inside(&ns, "cat /etc/keys/a/token; stat -Lc ' %a' /etc/keys/a/token").await.ok().trim(), "hush 400");
    let pod = pods(&ns).await.pop().expect("a pod");
    assert_eq!(inside(&ns, "cat /etc/pod/name").await.ok().trim(), pod.name_any());
    drop(inside(&ns, "test -s /var/run/secrets/kubernetes.io/serviceaccount/token").await.ok());
    let refused = inside(&ns, "touch /etc/app/x").await.refused();
    assert!(refused.contains("Read-only file system"), "{refused}");
    let service = ns.get::<Service>("web").await.spec.expect("a spec");
    let ports: Vec<_> = service.ports.iter().flatten().map(|port| (port.name.clone(), port.port)).collect();
    assert_eq!(ports, [(Some("http".to_owned()), 8080), (Some("dns".to_owned()), 53)]);
    let page = ns.proxied(&pod.name_any(), 80, "").await.expect("the application answers");
    assert!(page.contains("nginx"), "{page}");

    // From the long form to the short one, and all else away.
    let none = ["command", "args", "workingDir", "env", "ports", "files", "scratch", "preStop", "serviceAccountName"];
    let mut patch = json!({ "spec": { "port": 80, "automountToken": null, "terminationGracePeriodSeconds": null } });
    none.iter().for_each(|field| patch["spec"][*field] = json!(null));
    ns.patch("myapp/web", &patch).await;
    running_as(&ns, 2, 1).await;
    let template = ns.get::<Deployment>("web").await.spec.expect("a spec").template;
    let pod = template.spec.expect("pods have a spec");
    assert!(pod.volumes.is_none() && pod.containers[0].command.is_none() && pod.containers[0].lifecycle.is_none());
    assert_eq!((pod.termination_grace_period_seconds, pod.automount_service_account_token), (Some(30), Some(false)));
}

#[tokio::test]
async fn what_is_written_to_a_claim_stays_and_recreate_never_runs_two_pods() {
    let ns = Namespace::new("recreate").await;
    ns.apply(
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data},
          spec: {accessModes: [ReadWriteOnce], storageClassName: sized, resources: {requests: {storage: 32Mi}}}}",
    )
    .await;
    let spec = r"
  replicas: 1
  image: nginx:1.25
  strategy: {type: Recreate}
  revisionHistoryLimit: 1
  persistentVolumeClaims:
  - {name: data, mountPath: /data}
";
    ns.apply(&my_app("web", spec)).await;
    running_as(&ns, 1, 1).await;
    drop(ns.kubectl(&["exec", "deployment/web", "--", "sh", "-c", "echo kept > /data/file"]).await.ok());
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26" } })).await;
    let both = ns
        .eventually("the new version to run alone", || async {
            // The Deployment's controller waits until containers have ended, not until their pods are deleted.
            let ended = |pod: &Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) != Some("Running");
            let is_new = |pod: &Pod| {
                pod.spec.as_ref().is_some_and(|spec| spec.containers[0].image.as_deref() == Some("nginx:1.26"))
            };
            let pods: Vec<Pod> = pods(&ns).await.into_iter().filter(|pod| is_new(pod) || !ended(pod)).collect();
            match (pods.len(), pods.iter().filter(|pod| is_new(pod)).count()) {
                (1, 1) => Ok(false),
                (_, 1..) => Ok(true),
                other => Err(format!("{other:?} pods, new ones")),
            }
        })
        .await;
    assert!(!both, "a new pod next to an earlier one");
    running_as(&ns, 2, 1).await;
    assert_eq!(ns.kubectl(&["exec", "deployment/web", "--", "cat", "/data/file"]).await.ok().trim(), "kept");
}
