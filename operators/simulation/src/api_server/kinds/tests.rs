use super::*;

#[test]
fn built_in_and_custom_kinds_are_found() {
    let kinds = Kinds::all();
    let deployments = kinds.find("apps", "v1", "deployments").unwrap();
    assert_eq!(kinds.of("apps/v1", "Deployment"), Some(deployments));
    let kind = kinds.get(deployments).unwrap();
    assert_eq!(kind.api_version(), "apps/v1");
    assert_eq!((&*kind.resource(), &*kind.qualified()), ("deployments.apps", "Deployment.apps"));
    let pods = kinds.plural("pods").and_then(|id| kinds.get(id)).unwrap();
    assert_eq!(pods.api_version(), "v1");
    assert_eq!((&*pods.resource(), &*pods.qualified()), ("pods", "Pod"));
    for plural in ["etcdclusters", "myapps", "sampledbs", "sampledbsnapshots", "samples"] {
        let kind = kinds.plural(plural).and_then(|id| kinds.get(id)).unwrap();
        let schema = kind.schema.as_ref().unwrap();
        assert!(kind.namespaced && kind.status && schema.pointer("/properties/status").is_some(), "{plural}");
    }
    assert_eq!(kinds.plural("httproutes"), None, "a cluster may lack it");
}

#[test]
fn no_kind_is_served_twice() {
    let kinds = Kinds::all();
    for (id, kind) in kinds.iter() {
        assert_eq!(kinds.find(&kind.group, &kind.version, &kind.plural), Some(id), "{}", kind.resource());
    }
}

#[test]
fn a_crd_says_where_its_scale_is() {
    let kinds = Kinds::all();
    let paths = |plural| kinds.plural(plural).and_then(|id| kinds.scale_paths(id)).cloned();
    assert_eq!(paths("deployments").unwrap().spec, "/spec/replicas");
    let etcd = paths("etcdclusters").unwrap();
    assert_eq!(
        (&*etcd.spec, &*etcd.status, etcd.selector.as_deref()),
        ("/spec/size", "/status/size", Some("/status/selector"))
    );
    assert_eq!(paths("configmaps"), None);
}

#[test]
fn it_is_known_how_the_fields_of_each_kind_merge() {
    for (_, kind) in Kinds::all().iter() {
        assert!(kind.types.is_known(), "{} has no table of its fields", kind.resource());
    }
}
