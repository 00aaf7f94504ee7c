//! Generates what only the Rust code has: CRDs, their fields and reasons from the types of `api`, RBAC from each operator's
//! PERMISSIONS, and the bundle for OLM, which joins them with hand-written manifests.
//!
//! `cargo xtask generate` writes the files, `cargo xtask generate --check` only reports what is out of date. Both check that the
//! files of plans are pure, that no files of a crate import each other and that no two types have the same name. `cargo xtask
//! bundle` writes the bundle alone, for another version, image or directory; `cargo xtask check-bundle` reports errors in one.

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bundle;
mod catalog;
mod check;
mod crds;
mod fields;
mod generated;
mod imports;
mod paths;
mod purity;
mod rbac;
mod reasons;
mod type_names;

#[derive(Parser)]
#[command(about = "Tasks of the multi-operator workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write config/crd/bases, config/rbac, operators/api/src/fields.jsonl and bundle; check that plan files are pure, that
    /// no files of a crate import each other and that no two types have the same name.
    Generate {
        /// Write nothing; fail if a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Write the bundle for OLM.
    Bundle(bundle::BundleOptions),
    /// Check a bundle against the rules of OLM and of OperatorHub.
    CheckBundle(check::CheckOptions),
    /// Print the reasons of conditions and Events of each kind as JSON.
    Reasons,
}

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let complaints = match Arguments::parse().task {
        Task::Generate { check } => generate(&root, check),
        Task::Bundle(options) => bundle::write(&root, &options),
        Task::CheckBundle(options) => check::check(&root, &options),
        Task::Reasons => {
            println!("{}", reasons::json());
            Vec::new()
        }
    };
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Generates everything: first what is below `config`, as the bundle is built from it.
fn generate(root: &Path, check: bool) -> Vec<String> {
    let files =
        crds::files().into_iter().chain(rbac::files()).chain([catalog::file(), fields::file(), reasons::file()]);
    let mut complaints: Vec<String> = files.filter_map(|file| generated::settle(root, &file, check).err()).collect();
    complaints.extend(bundle::settle(root, &bundle::BundleOptions::default(), check));
    complaints.extend(purity::violations(root));
    complaints.extend(imports::violations(root));
    complaints.extend(type_names::violations(root));
    complaints
}
