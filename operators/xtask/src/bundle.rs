//! The bundle for OLM (registry+v1): the hand-written CSV of `config/manifests`, joined with what `kustomize build` makes
//! of that folder, with the CRDs and with what each operator may do.

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
mod ingredients;
mod metadata;
mod project;
mod properties;

pub(crate) use descriptors::PARTS;
pub(crate) use documents::{documents, text};
pub(crate) use metadata::{ANNOTATIONS_FILE, DOCKERFILE, SCORECARD};
pub(crate) use properties::properties;

use csv::Parts;
use documents::Documents;
use ingredients::{Ingredients, SOURCE};
use project::Project;

/// Where the bundle is kept.
pub(crate) const FOLDER: &str = "bundle";

/// Which bundle to write.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Version of the bundle [default: the version of the workspace]
    #[arg(long, value_name = "VERSION")]
    version: Option<Version>,
    /// Image of the manager [default: RELEASE_IMAGE of scripts/names.env, with the version as its tag]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// The config directory of another commit, with manifests in it, from which to take CRDs, RBAC and Deployment
    #[arg(long, value_name = "FOLDER")]
    config: Option<PathBuf>,
    /// Directory to write the bundle to
    #[arg(long, value_name = "FOLDER", default_value = FOLDER)]
    output: PathBuf,
}

/// Writes the bundle to the folder that the options name.
pub(crate) fn write(root: &Path, options: &Options) -> Vec<String> {
    if options.output == Path::new(FOLDER) {
        return settle(root, options, false);
    }
    // There may be other things in a folder of somebody's choice, and they stay.
    let folder = given(&options.output);
    match files(root, options) {
        Ok(files) => files.iter().filter_map(|file| generated::settle(&folder, file, false).err()).collect(),
        Err(why) => vec![why],
    }
}

/// Writes the bundle to [`FOLDER`], or says what of it is out of date.
pub(crate) fn settle(root: &Path, options: &Options, check: bool) -> Vec<String> {
    let files = match files(root, options) {
        Ok(files) => files,
        Err(why) => return vec![why],
    };
    let folder = Path::new(FOLDER);
    let files: Vec<Generated> = files.into_iter().map(|(path, text)| (folder.join(path), text)).collect();
    let settled = files.iter().filter_map(|file| generated::settle(root, file, check).err());
    settled.chain(generated::sweep(root, folder, &files, check)).collect()
}

/// Every file of the bundle, by its path in it.
fn files(root: &Path, options: &Options) -> Result<Vec<Generated>, String> {
    let make = || {
        let project = Project::parse(&read(root, "scripts/names.env")?)?;
        let mut parts = match &options.config {
            Some(config) => earlier::parts(root, &given(config))?,
            None => ingredients::here(root)?,
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
    options: &Options,
    project: &Project,
    documents: &Documents,
    parts: Ingredients,
) -> Result<Value, String> {
    let base = format!("{SOURCE}/bases/{}.clusterserviceversion.yaml", project.package);
    let version = match &options.version {
        Some(version) => version.clone(),
        None => Version::parse(env!("CARGO_PKG_VERSION")).map_err(|error| error.to_string())?,
    };
    let crds: Vec<Value> = parts.crds.into_iter().map(|(_, crd)| crd).collect();
    csv::assemble(
        serde_yaml_ng::from_str(&read(root, &base)?).map_err(|error| format!("{base}: {error}"))?,
        &Parts {
            project,
            version: &version,
            image: &options.image.clone().unwrap_or_else(|| format!("{}:{version}", project.image)),
            icon: &read(root, &format!("{SOURCE}/icon.svg"))?,
            documents,
            crds: &crds,
            namespaced: parts.namespaced,
            cluster: parts.cluster,
            earlier: options.config.is_some(),
        },
    )
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Where the CSV is in the bundle.
fn manifest(project: &Project) -> PathBuf {
    Path::new("manifests").join(format!("{}.clusterserviceversion.yaml", project.package))
}

/// Where a file of `config` is in the bundle.
fn in_manifests(path: &Path) -> PathBuf {
    Path::new("manifests").join(path.file_name().unwrap_or_default())
}
