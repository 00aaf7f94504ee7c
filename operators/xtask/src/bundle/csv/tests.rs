use super::*;

fn project() -> Project {
    Project {
        package: "p".into(),
        image: "r.example.com/p".into(),
        architectures: vec!["amd64".into()],
        url: "https://p.example.com".into(),
        provider: "provider".into(),
        maintainer: "maintainer".into(),
        email: "m@p.example.com".into(),
    }
}

fn base(version: &str) -> Value {
    json!({
        "metadata": {"name": "placeholder", "annotations": {"capabilities": "Basic Install"}},
        "spec": {"customresourcedefinitions": {"owned": [{"name": "apps.example.com", "version": version}]}},
    })
}

fn crd() -> Value {
    let schema = json!({"properties": {"spec": {"properties": {"image": {"description": "What to run."}}}}});
    json!({
        "metadata": {"name": "apps.example.com"},
        "spec": {"names": {"kind": "App"},
                 "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}},
                              {"name": "v0", "served": false}]},
    })
}

fn documents(image: &str) -> Documents {
    let catalog = json!({"kind": "ConfigMap", "metadata": {"name": sample_db::CATALOG}, "data": {}});
    Documents {
        deployment: json!({
            "metadata": {"name": "p-manager", "namespace": "p-system", "labels": {"a": "b"}},
            "spec": {"template": {"spec": {"serviceAccountName": "p", "containers": [{"image": image}]}}},
        }),
        examples: vec![json!({"kind": "App", "apiVersion": "example.com/v1"})],
        others: vec![catalog],
    }
}

fn made(base: Value, image: &str) -> Result<Value, String> {
    let rule = PolicyRule { verbs: vec!["get".into()], ..PolicyRule::default() };
    let parts = CsvParts {
        project: &project(),
        version: &Version::new(1, 2, 3),
        image: "r.example.com/p:1.2.3",
        icon: "<svg/>",
        documents: &documents(image),
        crds: &[crd()],
        namespaced: vec![rule.clone()],
        cluster: vec![rule],
        earlier: false,
    };
    assemble(base, &parts)
}

#[test]
fn both_halves_are_in_it() {
    let csv = made(base("v1"), PLACEHOLDER).unwrap();
    assert_eq!(csv["metadata"]["name"], "p.v1.2.3");
    assert_eq!(csv["metadata"]["annotations"]["capabilities"], "Basic Install");
    assert_eq!(csv["metadata"]["annotations"]["alm-examples"], r#"[{"apiVersion":"example.com/v1","kind":"App"}]"#);
    assert_eq!(csv["metadata"]["labels"]["operatorframework.io/arch.amd64"], "supported");
    assert_eq!(csv["spec"]["version"], "1.2.3");
    let install = &csv["spec"]["install"]["spec"];
    assert_eq!(install["deployments"][0]["name"], "p-manager");
    let container = &install["deployments"][0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "r.example.com/p:1.2.3");
    assert_eq!(install["permissions"][0]["serviceAccountName"], "p");
    let owned = csv["spec"]["customresourcedefinitions"]["owned"].as_array().unwrap();
    assert_eq!(owned.len(), 1, "what is not served is not owned");
    assert_eq!(owned[0]["kind"], "App");
    assert_eq!(owned[0]["specDescriptors"][0]["path"], "image");
    assert!(owned[0].get("statusDescriptors").is_none());
}

#[test]
fn a_base_that_does_not_fit_the_crds_is_rejected() {
    assert!(made(base("v2"), PLACEHOLDER).unwrap_err().contains("no entry for apps.example.com v1"));
    assert!(made(base("v1"), "other").unwrap_err().contains("has the image"));
    let mut stranger = base("v1");
    stranger["spec"]["customresourcedefinitions"]["owned"][0]["name"] = json!("others.example.com");
    assert!(made(stranger, PLACEHOLDER).unwrap_err().contains("others.example.com, which is no CRD of this project"));
    let mut bare = base("v1");
    bare["metadata"] = json!({});
    assert!(made(bare, PLACEHOLDER).unwrap_err().contains("no annotations"));
}
