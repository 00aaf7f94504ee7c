//! The bundle for OLM (registry+v1): the hand-written CSV of `config/manifests`, joined with the output of `kustomize build`
//! there, with the CRDs, and with the permissions of each operator.

use std::path::{Path, PathBuf};

use clap::Args;
use semver::Version;
use serde_json::Value;

use crate::generated::{self, Generated};
use crate::paths::given;

mod csv;
mod descriptors;
mod documents;
mod earlier;
mod hints;
mod images;
mod inputs;
mod metadata;
mod project;
mod properties;

pub(crate) use descriptors::PARTS;
pub(crate) use documents::{documents, text};
pub(crate) use metadata::{ANNOTATIONS_FILE, DOCKERFILE, SCORECARD};
pub(crate) use properties::properties;

use csv::CsvParts;
use documents::Documents;
use inputs::{BundleInputs, SOURCE};
use project::Project;

/// The directory of the bundle.
pub(crate) const DIRECTORY: &str = "bundle";

/// Which bundle to write.
#[derive(Args, Default)]
pub(crate) struct BundleOptions {
    /// Version of the bundle [default: the version of the workspace]
    #[arg(long, value_name = "VERSION")]
    version: Option<Version>,
    /// Image of the manager [default: RELEASE_IMAGE of scripts/names.env, with the version as its tag]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// The config directory of another commit, with manifests in it, from which to take CRDs, RBAC and Deployment
    #[arg(long, value_name = "DIRECTORY")]
    config: Option<PathBuf>,
    /// Directory to write the bundle to
    #[arg(long, value_name = "DIRECTORY", default_value = DIRECTORY)]
    output: PathBuf,
}

/// Writes the bundle to the directory in the options.
pub(crate) fn write(root: &Path, options: &BundleOptions) -> Vec<String> {
    if options.output == Path::new(DIRECTORY) {
        return settle(root, options, false);
    }
    // Another directory may contain other files, which stay.
    let directory = given(&options.output);
    match files(root, options) {
        Ok(files) => files.iter().filter_map(|file| generated::settle(&directory, file, false).err()).collect(),
        Err(why) => vec![why],
    }
}

/// Writes the bundle to [`DIRECTORY`], or reports what is out of date there.
pub(crate) fn settle(root: &Path, options: &BundleOptions, check: bool) -> Vec<String> {
    let files = match files(root, options) {
        Ok(files) => files,
        Err(why) => return vec![why],
    };
    let directory = Path::new(DIRECTORY);
    let files: Vec<Generated> = files.into_iter().map(|(path, text)| (directory.join(path), text)).collect();
    let settled = files.iter().filter_map(|file| generated::settle(root, file, check).err());
    settled.chain(generated::sweep(root, directory, &files, check)).collect()
}

/// Every file of the bundle, by its path in it.
fn files(root: &Path, options: &BundleOptions) -> Result<Vec<Generated>, String> {
    let make = || {
        let project = Project::parse(&read(&root.join("scripts/names.env"))?)?;
        let mut parts = match &options.config {
            Some(config) => earlier::parts(root, &given(config))?,
            None => inputs::here(root)?,
        };
        let documents = Documents::sort(std::mem::take(&mut parts.documents), &project.package)?;
        let crds = parts.crds.iter().map(|(name, crd)| (in_manifests(Path::new(name)), generated::document(crd)));
        let mut files: Vec<Generated> = crds.chain(documents.files()).chain(metadata::files(&project)).collect();
        let csv = csv(root, options, &project, &documents, parts)?;
        files.insert(0, (manifest(&project), generated::document(&csv)));
        Ok(files)
    };
    make().map_err(|why: String| format!("the bundle cannot be generated: {why}"))
}

fn csv(
    root: &Path,
    options: &BundleOptions,
    project: &Project,
    documents: &Documents,
    parts: BundleInputs,
) -> Result<Value, String> {
    // What people wrote is of the same commit: the base names its CRDs.
    let source = options.config.as_ref().map_or_else(|| root.join(SOURCE), |config| given(config).join("manifests"));
    let base = source.join(format!("bases/{}.clusterserviceversion.yaml", project.package));
    let version = match &options.version {
        Some(version) => version.clone(),
        None => Version::parse(env!("CARGO_PKG_VERSION")).map_err(|error| error.to_string())?,
    };
    let crds: Vec<Value> = parts.crds.into_iter().map(|(_, crd)| crd).collect();
    csv::assemble(
        serde_yaml_ng::from_str(&read(&base)?).map_err(|error| format!("{}: {error}", base.display()))?,
        &CsvParts {
            project,
            version: &version,
            image: &options.image.clone().unwrap_or_else(|| format!("{}:{version}", project.image)),
            icon: &read(&source.join("icon.svg"))?,
            documents,
            crds: &crds,
            namespaced: parts.namespaced,
            cluster: parts.cluster,
            earlier: options.config.is_some(),
        },
    )
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The path of the CSV in the bundle.
fn manifest(project: &Project) -> PathBuf {
    Path::new("manifests").join(format!("{}.clusterserviceversion.yaml", project.package))
}

/// The path of a file of `config` in the bundle.
fn in_manifests(path: &Path) -> PathBuf {
    Path::new("manifests").join(path.file_name().unwrap_or_default())
}
