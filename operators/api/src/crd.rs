//! The CRDs, with the adjustments that the derive macro cannot make.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};
use kube::CustomResourceExt;
use serde_json::json;

use crate::etcd_backup::EtcdBackup;
use crate::etcd_cluster::{DENIED_ENV, DENIED_ENV_MESSAGE, EtcdCluster};
use crate::etcd_restore::EtcdRestore;
use crate::sample_db::SampleDB;
use crate::sample_db_snapshot::SampleDBSnapshot;
use crate::{ETCD_GROUP, my_app::MyApp, sample::Sample};

/// All CRDs of this project, sorted by name.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    let all = [
        EtcdBackup::crd(),
        with_etcd_bounds(EtcdCluster::crd()),
        EtcdRestore::crd(),
        MyApp::crd(),
        with_lenient_conditions(with_database_bounds(SampleDB::crd())),
        with_lenient_conditions(SampleDBSnapshot::crd()),
        Sample::crd(),
    ];
    all.into_iter().map(never_observed_by_default).map(without_older_times).collect()
}

/// Gives `status` the default `{observedGeneration: -1}`, so that clients do not take an unobserved object for a
/// finished one (kstatus and Argo CD compare `observedGeneration` with the generation).
fn never_observed_by_default(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let status = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
            .and_then(|schema| schema.properties.as_mut())
            .and_then(|properties| properties.get_mut("status"))
            .expect("every kind has a status");
        status.default = Some(JSON(json!({ "observedGeneration": -1 })));
        status.nullable = None;
    }
    crd
}

/// Removes the older key of a condition's time from the kinds that never had it.
fn without_older_times(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    if crd.spec.group == ETCD_GROUP {
        return crd;
    }
    for item in conditions(&mut crd) {
        item.properties.get_or_insert_default().remove("lastUpdateTime");
    }
    crd
}

/// Requires only the type of a condition: if the operator removes a condition, another field manager may keep a part of
/// it, which would make every later write of the operator invalid.
fn with_lenient_conditions(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for item in conditions(&mut crd) {
        item.required = Some(vec!["type".into()]);
    }
    crd
}

/// The schema of a condition, in each version.
fn conditions(crd: &mut CustomResourceDefinition) -> impl Iterator<Item = &mut JSONSchemaProps> {
    crd.spec.versions.iter_mut().filter_map(|version| {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut())?;
        let status = schema.properties.as_mut()?.get_mut("status")?;
        match status.properties.as_mut()?.get_mut("conditions")?.items.as_mut()? {
            JSONSchemaPropsOrArray::Schema(item) => Some(&mut **item),
            JSONSchemaPropsOrArray::Schemas(_) => None,
        }
    })
}

/// The fields of a member's pod that have types of Kubernetes.
const KUBERNETES_FIELDS: [&str; 7] = [
    "affinity",
    "etcdEnv",
    "imagePullSecrets",
    "persistentVolumeClaimSpec",
    "securityContext",
    "tolerations",
    "topologySpreadConstraints",
];

/// Adjusts the CRD of EtcdCluster: drops descriptions that Kubernetes documents, and bounds what CEL rules read,
/// because the API server rejects rules without bounds as too costly.
fn with_etcd_bounds(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let root = root.expect("a definition has a schema");
        // Otherwise a server-side apply that empties it would leave `null`, and the API server would skip its rules.
        at(root, &["spec", "storage"]).x_kubernetes_map_type = Some("atomic".into());
        let pod = at(root, &["spec", "pod"]);
        for field in KUBERNETES_FIELDS {
            without_descriptions(at(pod, &[field]));
        }

        let name = at(items(at(pod, &["etcdEnv"])), &["name"]);
        (name.min_length, name.max_length) = (Some(1), Some(253));
        name.pattern = Some("^[-._a-zA-Z][-._a-zA-Z0-9]*$".into());
        name.x_kubernetes_validations = Some(vec![ValidationRule {
            rule: DENIED_ENV.into(),
            message: Some(DENIED_ENV_MESSAGE.into()),
            ..ValidationRule::default()
        }]);

        let claim = at(pod, &["persistentVolumeClaimSpec"]);
        for field in ["storageClassName", "volumeName", "volumeMode", "volumeAttributesClassName"] {
            at(claim, &[field]).max_length = Some(253);
        }
        for field in ["requests", "limits"] {
            at(claim, &["resources", field]).max_properties = Some(8);
        }
        let modes = at(claim, &["accessModes"]);
        modes.max_items = Some(4);
        items(modes).max_length = Some(32);
        let selector = at(claim, &["selector"]);
        let labels = at(selector, &["matchLabels"]);
        labels.max_properties = Some(16);
        if let Some(JSONSchemaPropsOrBool::Schema(value)) = &mut labels.additional_properties {
            value.max_length = Some(63);
        }
        let expressions = at(selector, &["matchExpressions"]);
        expressions.max_items = Some(16);
        let expression = items(expressions);
        at(expression, &["key"]).max_length = Some(317);
        at(expression, &["operator"]).max_length = Some(16);
        let values = at(expression, &["values"]);
        values.max_items = Some(64);
        items(values).max_length = Some(63);
    }
    crd
}

/// The fields of a database's pod that have types of Kubernetes.
const KUBERNETES_FIELDS_OF_DATABASES: [&str; 5] =
    ["affinity", "imagePullSecrets", "podSecurityContext", "tolerations", "topologySpreadConstraints"];

/// The parts of a SampleDB's spec. A server-side apply that empties one leaves `null`, which means the same as `{}`.
const PARTS_OF_DATABASES: [&[&str]; 12] = [
    &["engine"],
    &["storage"],
    &["bootstrap"],
    &["init"],
    &["credentials"],
    &["backup"],
    &["backup", "retention"],
    &["backup", "storage"],
    &["backup", "verify"],
    &["upgrade"],
    &["service"],
    &["deletion"],
];

/// Adjusts the CRD of SampleDB: drops descriptions that Kubernetes documents, and defaults a missing spec to an empty
/// one, because a database needs no more.
fn with_database_bounds(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let spec = at(root.expect("a definition has a schema"), &["spec"]);
        spec.default = Some(JSON(json!({})));
        for field in KUBERNETES_FIELDS_OF_DATABASES {
            without_descriptions(at(spec, &[field]));
        }
        for part in PARTS_OF_DATABASES {
            at(spec, part).nullable = Some(true);
        }
    }
    crd
}

/// Keeps the description of a field, and removes those within it.
fn without_descriptions(field: &mut JSONSchemaProps) {
    let description = field.description.take();
    for_each_schema(field, &|schema| schema.description = None);
    field.description = description;
}

/// The schema of a field, by its path.
fn at<'a>(schema: &'a mut JSONSchemaProps, path: &[&str]) -> &'a mut JSONSchemaProps {
    path.iter().fold(schema, |schema, field| {
        let field = schema.properties.as_mut().and_then(|properties| properties.get_mut(*field));
        field.unwrap_or_else(|| panic!("no field {path:?}"))
    })
}

/// The schema of a list's items.
fn items(schema: &mut JSONSchemaProps) -> &mut JSONSchemaProps {
    match &mut schema.items {
        Some(JSONSchemaPropsOrArray::Schema(item)) => item,
        _ => panic!("no list"),
    }
}

/// Changes a schema and all schemas within it.
fn for_each_schema(schema: &mut JSONSchemaProps, change: &impl Fn(&mut JSONSchemaProps)) {
    change(schema);
    schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
        .for_each(|field| for_each_schema(field, change));
    if let Some(JSONSchemaPropsOrArray::Schema(item)) = &mut schema.items {
        for_each_schema(item, change);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &mut schema.additional_properties {
        for_each_schema(value, change);
    }
}
