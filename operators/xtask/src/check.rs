//! What is wrong with a bundle, by the rules of OLM and of those who publish bundles. The operator-framework's own
//! validators and OLM v1's rules for CRDs are Go libraries: `scripts/tools/cmd/bundle-validators` runs them, and what they
//! find is judged here, with the rest.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::bundle::FOLDER;
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
use contents::Contents;
use finding::{Finding, Level};

/// What is excused, in words.
const ALLOWED: &str = "config/manifests/allowed.yaml";

/// Which bundle to check.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory of the bundle
    #[arg(default_value = FOLDER, value_name = "FOLDER")]
    bundle: PathBuf,
    /// Findings of other checks: one JSON object a line, with level (error, warning), check and message
    #[arg(long, value_name = "FILE")]
    findings: Vec<PathBuf>,
}

/// Rules, and what they find.
type Rules = fn(&Contents) -> Vec<Finding>;

/// Every set of rules made here, by what it is called in the closing lines.
const RULES: [(&str, Rules); 4] = [
    ("registry+v1 format", format::findings),
    ("community pipeline", community::findings),
    ("scorecard", scorecard::findings),
    ("OLM v1 registry+v1", olm_v1::findings),
];

/// Checks a bundle; returns what is wrong and not excused, a line each.
pub(crate) fn check(root: &Path, options: &Options) -> Vec<String> {
    match verdict(root, options) {
        Ok(complaints) => complaints,
        Err(why) => vec![why],
    }
}

fn verdict(root: &Path, options: &Options) -> Result<Vec<String>, String> {
    let folder = if options.bundle == Path::new(FOLDER) { root.join(FOLDER) } else { given(&options.bundle) };
    let contents = Contents::of(read(&folder)?)?;
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
        "{} errors, {} warnings, {} more excused by {ALLOWED}",
        judged.count(Level::Error),
        judged.count(Level::Warning),
        judged.excused
    );
    Ok(judged.complaints())
}

/// The files below a folder, by their paths in it.
fn read(folder: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let paths = generated::below(folder, Path::new(""));
    if paths.is_empty() {
        return Err(format!("{}: there is no bundle here; scripts/bundle makes one", folder.display()));
    }
    let text = |path: PathBuf| match std::fs::read_to_string(folder.join(&path)) {
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
