//! The bundle for OLM (registry+v1): the hand-written CSV of `config/manifests`, joined with what `kustomize build` makes
//! of that folder, with the CRDs and with what each operator may do.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use semver::Version;
use serde_json::Value;

use crate::generated::{self, Generated};
use crate::{crds, given, rbac};

mod csv;
mod descriptors;
mod documents;
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
        let documents = Documents::sort(kustomized(root)?, &project.package)?;
        let csv = csv(root, options, &project, &documents)?;
        let crds = crds::files().into_iter().map(|(path, text)| (in_manifests(&path), text));
        let mut files = vec![(manifest(&project), generated::document(&csv))];
        files.extend(crds.chain(documents.files()).chain(metadata::files(&project)));
        Ok(files)
    };
    make().map_err(|why: String| format!("the bundle cannot be made: {why}"))
}

fn csv(root: &Path, options: &Options, project: &Project, documents: &Documents) -> Result<Value, String> {
    let base = format!("{SOURCE}/bases/{}.clusterserviceversion.yaml", project.package);
    let version = match &options.version {
        Some(version) => version.clone(),
        None => Version::parse(env!("CARGO_PKG_VERSION")).map_err(|error| error.to_string())?,
    };
    let crds = api::crds().iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>();
    csv::assemble(
        serde_yaml_ng::from_str(&read(root, &base)?).map_err(|error| format!("{base}: {error}"))?,
        &Parts {
            project,
            version: &version,
            image: &options.image.clone().unwrap_or_else(|| format!("{}:{version}", project.image)),
            icon: &read(root, &format!("{SOURCE}/icon.svg"))?,
            documents,
            crds: &crds.map_err(|error| error.to_string())?,
            namespaced: rbac::namespaced(),
            cluster: rbac::cluster(),
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

/// What kustomize makes of [`SOURCE`], by the pinned kustomize, lest another one's order or defaults get in.
fn kustomized(root: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(root.join("scripts/kustomize"))
        .args(["build", SOURCE])
        .current_dir(root)
        .output()
        .map_err(|error| format!("scripts/kustomize: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("scripts/kustomize build {SOURCE}: {}", said.trim()));
    }
    documents(&String::from_utf8_lossy(&output.stdout))
}

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let read = serde_yaml_ng::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize);
    let all: Vec<Value> = read.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok(all.into_iter().filter(|document| !document.is_null()).collect())
}
