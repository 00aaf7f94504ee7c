//! The exceptions, each with a reason. Only warnings can have one; errors cannot.

use serde::Deserialize;

use super::finding::{Finding, Level};

/// The exceptions.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Allowed(Vec<Exception>);

/// An exception for all findings of one check whose message has this text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    check: String,
    message: String,
    why: String,
}

/// The result of a check.
#[derive(Debug)]
pub(crate) struct BundleVerdict {
    /// Findings without an exception.
    pub left: Vec<Finding>,
    /// How many findings have an exception.
    pub excepted: usize,
    /// Exceptions without a finding.
    idle: Vec<String>,
}

impl Allowed {
    /// Reads a list of `check`, `message` and `why`.
    ///
    /// # Errors
    /// If it cannot be parsed, or an exception lacks its message or its reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed: Self = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
        let empty = |exception: &&Exception| exception.message.trim().is_empty() || exception.why.trim().is_empty();
        match allowed.0.iter().find(empty) {
            Some(exception) => Err(format!("an exception of {} lacks its message or its reason", exception.check)),
            None => Ok(allowed),
        }
    }

    /// Removes the findings that have an exception.
    pub fn judge(&self, findings: Vec<Finding>) -> BundleVerdict {
        let idle = self.0.iter().filter(|exception| !findings.iter().any(|finding| exception.covers(finding)));
        let idle = idle.map(|exception| format!("{}: {:?}", exception.check, exception.message)).collect();
        let all = findings.len();
        let excepted = |finding: &Finding| self.0.iter().any(|exception| exception.covers(finding));
        let mut left: Vec<Finding> = findings.into_iter().filter(|finding| !excepted(finding)).collect();
        left.sort_by(|one, other| (one.level, &one.check).cmp(&(other.level, &other.check)));
        BundleVerdict { excepted: all - left.len(), left, idle }
    }
}

impl Exception {
    fn covers(&self, finding: &Finding) -> bool {
        finding.level == Level::Warning && finding.check == self.check && finding.message.contains(&self.message)
    }
}

impl BundleVerdict {
    pub fn count(&self, level: Level) -> usize {
        self.left.iter().filter(|finding| finding.level == level).count()
    }

    /// A line for each finding without an exception, and for each exception without a finding.
    pub fn complaints(&self) -> Vec<String> {
        let word = |level| match level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let left = self.left.iter().map(|left| format!("{}: {}: {}", word(left.level), left.check, left.message));
        let idle = self.idle.iter().map(|idle| format!("this exception has no finding any more; remove it: {idle}"));
        left.chain(idle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCEPTIONS: &str = "- check: a/b\n  message: no spec\n  why: it has none\n";

    #[test]
    fn a_warning_may_have_an_exception_and_an_error_may_not() {
        let allowed = Allowed::parse(EXCEPTIONS).unwrap();
        let judged = allowed.judge(vec![Finding::warning("a/b", "Sample has no spec")]);
        assert_eq!((judged.excepted, judged.complaints().len()), (1, 0));
        let judged =
            allowed.judge(vec![Finding::error("a/b", "Sample has no spec"), Finding::warning("a/c", "no spec")]);
        assert_eq!((judged.count(Level::Error), judged.count(Level::Warning), judged.excepted), (1, 1, 0));
        assert!(judged.complaints()[0].starts_with("error: a/b: "));
    }

    #[test]
    fn an_exception_without_a_finding_or_a_reason_is_reported() {
        let judged = Allowed::parse(EXCEPTIONS).unwrap().judge(Vec::new());
        assert!(judged.complaints()[0].contains("has no finding any more"));
        assert!(
            Allowed::parse("- check: a/b\n  message: x\n  why: ''\n")
                .unwrap_err()
                .contains("lacks its message or its reason")
        );
    }
}
