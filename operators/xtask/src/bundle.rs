//! The bundle for OLM (registry+v1): the hand-written CSV of `config/manifests`, joined with what `kustomize build` makes
//! of that folder, with the CRDs and with what each operator may do.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use k8s_openapi::api::rbac::v1::PolicyRule;
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
    version: Option<semver::Version>,
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
    let (root, folder) = if options.output == Path::new(FOLDER) {
        (root.to_owned(), PathBuf::from(FOLDER))
    } else {
        (given(&options.output), PathBuf::new())
    };
    settle_in(&root, &folder, options, false)
}

/// Writes the bundle, or says what of it is out of date.
pub(crate) fn settle(root: &Path, options: &Options, check: bool) -> Vec<String> {
    settle_in(root, Path::new(FOLDER), options, check)
}

fn settle_in(root: &Path, folder: &Path, options: &Options, check: bool) -> Vec<String> {
    let files = match files(options) {
        Ok(files) => files,
        Err(why) => return vec![format!("the bundle cannot be made: {why}")],
    };
    let files: Vec<Generated> = files.into_iter().map(|(path, text)| (folder.join(path), text)).collect();
    let mut complaints: Vec<String> =
        files.iter().filter_map(|file| generated::settle(root, file, check).err()).collect();
    // In a folder of somebody's choice there may be other things.
    if folder == Path::new(FOLDER) {
        complaints.extend(generated::sweep(root, folder, &files, check));
    }
    complaints
}

/// Every file of the bundle, by its path in it.
fn files(options: &Options) -> Result<Vec<Generated>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"));
    let project = Project::parse(&read("scripts/names.env")?)?;
    let base = format!("{SOURCE}/bases/{}.clusterserviceversion.yaml", project.package);
    let version = match &options.version {
        Some(version) => version.clone(),
        None => semver::Version::parse(env!("CARGO_PKG_VERSION")).map_err(|error| error.to_string())?,
    };
    let parts = match &options.config {
        Some(config) => earlier::parts(&root, &given(config))?,
        None => here(&root)?,
    };
    let documents = Documents::sort(parts.documents, &project.package)?;
    let image = options.image.clone().unwrap_or_else(|| format!("{}:{version}", project.image));
    let csv = csv::assemble(
        yaml(&read(&base)?).map_err(|error| format!("{base}: {error}"))?,
        &Parts {
            project: &project,
            version: &version,
            image: &image,
            icon: &read(&format!("{SOURCE}/icon.svg"))?,
            documents: &documents,
            crds: &parts.crds.iter().map(|(_, crd)| crd.clone()).collect::<Vec<_>>(),
            namespaced: parts.namespaced,
            cluster: parts.cluster,
            earlier: options.config.is_some(),
        },
    )?;
    let name = format!("manifests/{}.clusterserviceversion.yaml", project.package);
    let mut files: Vec<Generated> = vec![(name.into(), generated::document(&csv))];
    files.extend(
        crds::files()
            .into_iter()
            .filter_map(|(path, text)| Some((Path::new("manifests").join(path.file_name()?), text))),
    );
    files.extend(documents.files());
    files.extend(metadata::files(&project));
    Ok(files)
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

fn yaml(text: &str) -> Result<Value, String> {
    serde_yaml_ng::from_str(text).map_err(|error| error.to_string())
}
