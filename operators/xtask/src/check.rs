//! Checks a bundle by the rules of OLM and of the sites that publish bundles. The operator-framework's own validators and OLM
//! v1's rules for CRDs are Go libraries: `scripts/tools/cmd/bundle-validators` runs them, and this check reads their findings.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::bundle::DIRECTORY;
use crate::generated;
use crate::paths::given;

mod allowed;
mod community;
mod contents;
mod fields;
mod finding;
mod format;
mod olm_v1;
mod scorecard;

use allowed::Allowed;
use contents::BundleContents;
use finding::{Finding, Level};

/// The exceptions.
const ALLOWED: &str = "config/manifests/allowed.yaml";

/// Which bundle to check.
#[derive(Args)]
pub(crate) struct CheckOptions {
    /// Directory of the bundle
    #[arg(default_value = DIRECTORY, value_name = "DIRECTORY")]
    bundle: PathBuf,
    /// Findings of other checks: one JSON object a line, with level (error, warning), check and message
    #[arg(long, value_name = "FILE")]
    findings: Vec<PathBuf>,
}

/// A set of rules, which returns its findings.
type RuleSet = fn(&BundleContents) -> Vec<Finding>;

/// Every set of rules, with its name in the summary.
const RULES: [(&str, RuleSet); 4] = [
    ("registry+v1 format", format::findings),
    ("community pipeline", community::findings),
    ("scorecard", scorecard::findings),
    ("OLM v1 registry+v1", olm_v1::findings),
];

/// Checks a bundle; returns a line for each finding without an exception.
pub(crate) fn check(root: &Path, options: &CheckOptions) -> Vec<String> {
    match verdict(root, options) {
        Ok(complaints) => complaints,
        Err(why) => vec![why],
    }
}

fn verdict(root: &Path, options: &CheckOptions) -> Result<Vec<String>, String> {
    let directory = if options.bundle == Path::new(DIRECTORY) { root.join(DIRECTORY) } else { given(&options.bundle) };
    let contents = BundleContents::of(read(&directory)?)?;
    let allowed = std::fs::read_to_string(root.join(ALLOWED)).map_err(|error| format!("{ALLOWED}: {error}"))?;
    let allowed = Allowed::parse(&allowed).map_err(|error| format!("{ALLOWED}: {error}"))?;
    let mut findings = Vec::new();
    for file in &options.findings {
        let text = std::fs::read_to_string(given(file)).map_err(|error| format!("{}: {error}", file.display()))?;
        findings.extend(from_lines(&text).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    for (name, rules) in RULES {
        let found = rules(&contents);
        println!("{name}: {} found", found.len());
        findings.extend(found);
    }
    println!("size: {} bytes in {} files (at most {})", contents.size(), contents.files.len(), format::LARGEST);
    let judged = allowed.judge(findings);
    println!(
        "{} errors, {} warnings, {} more with exceptions in {ALLOWED}",
        judged.count(Level::Error),
        judged.count(Level::Warning),
        judged.excepted
    );
    Ok(judged.complaints())
}

/// The files below a directory, by their paths in it.
fn read(directory: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let paths = generated::below(directory, Path::new(""));
    if paths.is_empty() {
        return Err(format!("{}: there is no bundle here; scripts/bundle creates one", directory.display()));
    }
    let text = |path: PathBuf| match std::fs::read_to_string(directory.join(&path)) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(format!("{}: {error}", path.display())),
    };
    paths.into_iter().map(text).collect()
}

fn from_lines(text: &str) -> Result<Vec<Finding>, String> {
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))).collect()
}

#[cfg(test)]
mod tests;
