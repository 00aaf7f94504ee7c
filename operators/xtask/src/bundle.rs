//! The bundle for OLM (registry+v1): the hand-written CSV of `config/manifests`, joined with what `kustomize build` makes
//! of that folder, with the CRDs and with what each operator may do.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use k8s_openapi::api::rbac::v1::PolicyRule;
use semver::Version;
use serde_json::Value;

use crate::generated::{self, Generated};
use crate::{crds, given, rbac};

mod csv;
mod descriptors;
mod documents;
mod earlier;
mod hints;
mod images;
mod metadata;
mod project;

pub(crate) use descriptors::{PARTS, properties};
pub(crate) use documents::text;
pub(crate) use metadata::{ANNOTATIONS_FILE, DOCKERFILE, SCORECARD};

use csv::Parts;
use documents::Documents;
use project::Project;

/// Where people write their half.
const SOURCE: &str = "config/manifests";
/// Where the bundle is kept.
pub(crate) const FOLDER: &str = "bundle";

/// Which bundle to write.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Its version [default: that of the workspace]
    #[arg(long, value_name = "VERSION")]
    version: Option<Version>,
    /// The manager's image [default: RELEASE_IMAGE of scripts/names.env, with the version as its tag]
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Another commit's config, with manifests in it: CRDs, rights and Deployment are taken from there, and not from here
    #[arg(long, value_name = "FOLDER")]
    config: Option<PathBuf>,
    /// The folder to write it to
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
            None => here(root)?,
        };
        let documents = Documents::sort(std::mem::take(&mut parts.documents), &project.package)?;
        let crds = parts.crds.iter().map(|(name, crd)| (in_manifests(Path::new(name)), generated::document(crd)));
        let mut files: Vec<Generated> = crds.chain(documents.files()).chain(metadata::files(&project)).collect();
        let csv = csv(root, options, &project, &documents, parts)?;
        files.insert(0, (manifest(&project), generated::document(&csv)));
        Ok(files)
    };
    make().map_err(|why: String| format!("the bundle cannot be made: {why}"))
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

/// What a bundle is made of, besides what people wrote.
struct Ingredients {
    /// What kustomize makes of the manifests.
    documents: Vec<Value>,
    /// By the names of their files.
    crds: Vec<(String, Value)>,
    /// Rights in each watched namespace.
    namespaced: Vec<PolicyRule>,
    /// Rights on the cluster.
    cluster: Vec<PolicyRule>,
}

/// What this commit's code and manifests say.
fn here(root: &Path) -> Result<Ingredients, String> {
    let crds = api::crds();
    let crds = crds.iter().map(|crd| Ok((crds::file_name(crd), serde_json::to_value(crd)?)));
    let crds = crds.collect::<Result<_, serde_json::Error>>().map_err(|error| error.to_string())?;
    let documents = kustomized(root, Path::new(SOURCE))?;
    Ok(Ingredients { documents, crds, namespaced: rbac::namespaced(), cluster: rbac::cluster() })
}

/// What kustomize makes of a folder, by the pinned kustomize, lest another one's order or defaults get in.
fn kustomized(root: &Path, folder: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(root.join("scripts/kustomize"))
        .arg("build")
        .arg(folder)
        .current_dir(root)
        .output()
        .map_err(|error| format!("scripts/kustomize: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scripts/kustomize build {}: {}", folder.display(), said.trim()));
    }
    documents(&String::from_utf8_lossy(&output.stdout))
}

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let read = serde_yaml_ng::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize);
    let all: Vec<Value> = read.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}
