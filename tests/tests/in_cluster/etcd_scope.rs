//! A manager of all namespaces manages every EtcdCluster, annotated for cluster-wide operators or not. (The suite `processes`
//! tests what other scopes leave alone, where no other manager takes it.)

use api::etcd_cluster::EtcdCluster;
use e2e::namespace::Namespace;

const BOTH: &str = "
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata:
  name: plain
spec: {size: 3, paused: true}
---
apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata:
  name: annotated
  annotations:
    etcd.database.coreos.com/scope: clusterwide
spec: {size: 3, paused: true}
";

#[tokio::test]
async fn all_clusters_are_managed_when_all_namespaces_are_watched() {
    let ns = Namespace::new("etcd-scope").await;
    ns.apply(BOTH).await;
    for name in ["plain", "annotated"] {
        ns.until::<EtcdCluster, ()>(name, "it to be managed and paused", |cluster| {
            let status = cluster?.status.as_ref()?;
            let owned = status.contract.managed_by.as_deref() == Some("multi-operator-system/multi-operator");
            (owned && status.control_paused).then_some(())
        })
        .await;
    }
}
