//! Writes what only the Rust code knows: CRDs, their fields and reasons from the types of `api`, RBAC from each operator's PERMISSIONS, and the
//! bundle for OLM, which joins them with what people wrote.
//!
//! `cargo xtask generate` writes, `cargo xtask generate --check` only says what is out of date, and both check that the
//! files of plans are pure and that no files of a crate import each other. `cargo xtask bundle` writes the bundle alone, for
//! another version, image or folder; `cargo xtask check-bundle` says what is wrong with one.

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

#[derive(Parser)]
#[command(about = "Tasks of the multi-operator workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write config/crd/bases, config/rbac, operators/api/src/fields.jsonl and bundle; check that plan files are pure and that
    /// no files of a crate import each other.
    Generate {
        /// Write nothing; fail if a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Write the bundle for OLM.
    Bundle(bundle::Options),
    /// Check a bundle against the rules of OLM and of OperatorHub.
    CheckBundle(check::Options),
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

/// Everything generated: what is below `config` first, since the bundle is made of it.
fn generate(root: &Path, check: bool) -> Vec<String> {
    let files =
        crds::files().into_iter().chain(rbac::files()).chain([catalog::file(), fields::file(), reasons::file()]);
    let mut complaints: Vec<String> = files.filter_map(|file| generated::settle(root, &file, check).err()).collect();
    complaints.extend(bundle::settle(root, &bundle::Options::default(), check));
    complaints.extend(purity::violations(root));
    complaints.extend(imports::violations(root));
    complaints
}
