//! The images that the bundle may ask a cluster to pull, for those who mirror them.

use std::collections::BTreeSet;

use api::etcd_cluster::{DEFAULT_REPOSITORY, DEFAULT_VERSION};
use serde_json::{Value, json};

use super::documents::text;

/// The manager's image (which has the agent too), the one of etcd for a cluster without a version, and those of the catalog of
/// PostgreSQL, which the manager reads from the ConfigMap in the bundle. The image of a MyApp is the user's own.
pub(crate) fn related(manager: &str, others: &[Value], earlier: bool) -> Result<Value, String> {
    let etcd = format!("{DEFAULT_REPOSITORY}:v{DEFAULT_VERSION}");
    let mut images = vec![("manager".to_owned(), manager.to_owned()), (format!("etcd-{DEFAULT_VERSION}"), etcd)];
    let catalog = others.iter().find(|document| {
        text(document, "/kind") == "ConfigMap" && text(document, "/metadata/name") == sample_db::CATALOG
    });
    let entries = catalog.and_then(|catalog| catalog.get("data")?.as_object());
    if entries.is_none() && !earlier {
        return Err(format!("there is no ConfigMap {} with data", sample_db::CATALOG));
    }
    for (release, entry) in entries.into_iter().flatten() {
        let entry: Value = serde_json::from_str(entry.as_str().unwrap_or_default())
            .map_err(|error| format!("{} {release}: {error}", sample_db::CATALOG))?;
        images.push((format!("postgres-{release}"), text(&entry, "/image").to_owned()));
    }
    let mut seen = BTreeSet::new();
    images.retain(|(_, image)| seen.insert(image.clone()));
    Ok(images.into_iter().map(|(name, image)| json!({ "image": image, "name": name })).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_manager_etcd_and_catalog_are_related() {
        let catalog = json!({"kind": "ConfigMap", "metadata": {"name": sample_db::CATALOG},
            "data": {"17.11": r#"{"image":"pg:17.12"}"#, "17.12": r#"{"image":"pg:17.12","default":true}"#}});
        let images = related("m:1", &[catalog], false).unwrap();
        let names: Vec<&str> = images.as_array().unwrap().iter().map(|image| text(image, "/name")).collect();
        assert_eq!(names, ["manager", &*format!("etcd-{DEFAULT_VERSION}"), "postgres-17.11"]);
        assert!(related("m:1", &[], false).unwrap_err().contains(sample_db::CATALOG));
    }
}
