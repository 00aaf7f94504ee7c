//! The parsed files of a bundle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bundle::{ANNOTATIONS_FILE, DOCKERFILE, SCORECARD, documents, text};

/// A file of the manifests: its name and its documents.
pub(crate) struct ManifestFile {
    pub file: String,
    pub documents: Vec<Value>,
}

/// A bundle.
pub(crate) struct BundleContents {
    /// Every file, by its path in the bundle.
    pub files: Vec<(PathBuf, String)>,
    pub manifests: Vec<ManifestFile>,
    /// The first CSV; null if there is none.
    pub csv: Value,
    pub annotations: BTreeMap<String, String>,
    pub dockerfile: String,
    pub scorecard: Value,
}

impl BundleContents {
    /// Parses the files.
    ///
    /// # Errors
    /// If a file is not YAML.
    pub fn of(files: Vec<(PathBuf, String)>) -> Result<Self, String> {
        let read = |path: &Path, text: &str| documents(text).map_err(|error| format!("{}: {error}", path.display()));
        let mut manifests = Vec::new();
        for (path, text) in files.iter().filter(|(path, _)| path.starts_with("manifests")) {
            manifests.push(ManifestFile { file: path.display().to_string(), documents: read(path, text)? });
        }
        let one =
            |wanted: &str| files.iter().find(|(path, _)| path == Path::new(wanted)).map(|(_, text)| text.as_str());
        let first = |wanted: &str| match one(wanted) {
            Some(text) => Ok(read(Path::new(wanted), text)?.into_iter().next().unwrap_or_default()),
            None => Ok::<Value, String>(Value::Null),
        };
        let annotations = first(ANNOTATIONS_FILE)?;
        let dockerfile = one(DOCKERFILE).unwrap_or_default().to_owned();
        let scorecard = first(SCORECARD)?;
        let mut contents = Self {
            csv: Value::Null,
            annotations: strings(annotations.get("annotations")),
            dockerfile,
            scorecard,
            manifests,
            files,
        };
        let csv = contents.of_kind("ClusterServiceVersion").next().cloned();
        contents.csv = csv.unwrap_or_default();
        Ok(contents)
    }

    /// Every document of the manifests.
    pub fn documents(&self) -> impl Iterator<Item = &Value> {
        self.manifests.iter().flat_map(|manifest| &manifest.documents)
    }

    /// The documents of a kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.documents().filter(move |document| text(document, "/kind") == kind)
    }

    /// The CRDs.
    pub fn crds(&self) -> impl Iterator<Item = &Value> {
        self.of_kind("CustomResourceDefinition")
    }

    /// A list of the CSV, by its JSON pointer; empty if it has none.
    pub fn listed(&self, pointer: &str) -> &[Value] {
        self.csv.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The CSV's entries for its own CRDs.
    pub fn owned(&self) -> &[Value] {
        self.listed("/spec/customresourcedefinitions/owned")
    }

    /// The Deployments of the CSV.
    pub fn deployments(&self) -> &[Value] {
        self.listed("/spec/install/spec/deployments")
    }

    /// The examples.
    ///
    /// # Errors
    /// If they are not JSON.
    pub fn examples(&self) -> Result<Vec<Value>, String> {
        let annotation = text(&self.csv, "/metadata/annotations/alm-examples");
        serde_json::from_str(annotation).map_err(|error| format!("alm-examples is no JSON array: {error}"))
    }

    /// The schema of a version of the CRD of an owned entry or an example.
    pub fn schema(&self, group: &str, kind: &str, version: &str) -> Option<&Value> {
        let crd = self.crds().find(|crd| {
            text(crd, "/spec/group") == group && text(crd, "/spec/names/kind").eq_ignore_ascii_case(kind)
        })?;
        let versions = crd.pointer("/spec/versions")?.as_array()?;
        versions.iter().find(|one| text(one, "/name") == version)?.pointer("/schema/openAPIV3Schema")
    }

    /// The size of its files, in bytes.
    pub fn size(&self) -> usize {
        self.files.iter().map(|(_, text)| text.len()).sum()
    }
}

/// A map of strings; other values are left out.
pub(crate) fn strings(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The group of an owned CRD, whose name is its plural and its group.
pub(crate) fn group_of(owned: &Value) -> &str {
    text(owned, "/name").split_once('.').map_or("", |(_, group)| group)
}
