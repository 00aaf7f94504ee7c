//! Scripts that change or damage volumes.

use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;

use crate::namespace::Namespace;

/// Runs a shell script with the volume of the PVC `claim` at /data, as the user that owns the files.
pub async fn run_on_volume(ns: &Namespace, claim: &str, script: &str) {
    let pod = format!("{claim}-script");
    ns.apply(&format!(
        "
apiVersion: v1
kind: Pod
metadata: {{name: {pod}}}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {{runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
  - name: script
    image: nginx:1.25
    command: [sh, -euxc, {script:?}]
    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
    volumeMounts: [{{name: data, mountPath: /data}}]
  volumes:
  - name: data
    persistentVolumeClaim: {{claimName: {claim}}}
"
    ))
    .await;
    let phase = ns
        .until::<Pod, _>(&pod, "the script to end", |pod| {
            let phase = pod?.status.as_ref()?.phase.clone()?;
            ["Succeeded", "Failed"].contains(&phase.as_str()).then_some(phase)
        })
        .await;
    let log = ns.kubectl(&["logs", &pod]).await.ok();
    assert_eq!(phase, "Succeeded", "{log}");
    let deletion = ns.api::<Pod>().delete(&pod, &DeleteParams::default()).await;
    deletion.unwrap_or_else(|error| panic!("the pod {pod} cannot be deleted: {error}"));
}
