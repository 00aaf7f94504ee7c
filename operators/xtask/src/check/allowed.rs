//! What is excused, each in words. Only warnings can be: an error is one.

use serde::Deserialize;

use super::finding::{Finding, Level};

/// The excuses.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Allowed(Vec<Excuse>);

/// One excuse, for all findings of one check whose message has these words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Excuse {
    check: String,
    message: String,
    why: String,
}

/// What is left of the findings.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Those that nothing excuses.
    pub left: Vec<Finding>,
    /// How many are excused.
    pub excused: usize,
    /// Excuses for what was not found.
    idle: Vec<String>,
}

impl Allowed {
    /// Reads a list of `check`, `message` and `why`.
    ///
    /// # Errors
    /// What cannot be read, or an excuse that says nothing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed: Self = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
        let empty = |excuse: &&Excuse| excuse.message.trim().is_empty() || excuse.why.trim().is_empty();
        match allowed.0.iter().find(empty) {
            Some(excuse) => Err(format!("an excuse of {} says not what, or not why", excuse.check)),
            None => Ok(allowed),
        }
    }

    /// Takes away what is excused.
    pub fn judge(&self, findings: Vec<Finding>) -> Judged {
        let idle = self.0.iter().filter(|excuse| !findings.iter().any(|finding| excuse.excuses(finding)));
        let idle = idle.map(|excuse| format!("{}: {:?}", excuse.check, excuse.message)).collect();
        let all = findings.len();
        let excused = |finding: &Finding| self.0.iter().any(|excuse| excuse.excuses(finding));
        let mut left: Vec<Finding> = findings.into_iter().filter(|finding| !excused(finding)).collect();
        left.sort_by(|one, other| (one.level, &one.check).cmp(&(other.level, &other.check)));
        Judged { excused: all - left.len(), left, idle }
    }
}

impl Excuse {
    fn excuses(&self, finding: &Finding) -> bool {
        finding.level == Level::Warning && finding.check == self.check && finding.message.contains(&self.message)
    }
}

impl Judged {
    pub fn count(&self, level: Level) -> usize {
        self.left.iter().filter(|finding| finding.level == level).count()
    }

    /// A line for each that is left, and for each excuse that has nothing to excuse any more.
    pub fn complaints(&self) -> Vec<String> {
        let word = |level| match level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let left = self.left.iter().map(|left| format!("{}: {}: {}", word(left.level), left.check, left.message));
        let idle = self.idle.iter().map(|idle| format!("this excuse excuses nothing any more, take it away: {idle}"));
        left.chain(idle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCUSES: &str = "- check: a/b\n  message: no spec\n  why: it has none\n";

    #[test]
    fn a_warning_is_excused_and_an_error_never() {
        let allowed = Allowed::parse(EXCUSES).unwrap();
        let judged = allowed.judge(vec![Finding::warning("a/b", "Sample has no spec")]);
        assert_eq!((judged.excused, judged.complaints().len()), (1, 0));
        let judged =
            allowed.judge(vec![Finding::error("a/b", "Sample has no spec"), Finding::warning("a/c", "no spec")]);
        assert_eq!((judged.count(Level::Error), judged.count(Level::Warning), judged.excused), (1, 1, 0));
        assert!(judged.complaints()[0].starts_with("error: a/b: "));
    }

    #[test]
    fn an_excuse_without_an_occasion_or_a_reason_is_told() {
        let judged = Allowed::parse(EXCUSES).unwrap().judge(Vec::new());
        assert!(judged.complaints()[0].contains("excuses nothing any more"));
        assert!(Allowed::parse("- check: a/b\n  message: x\n  why: ''\n").unwrap_err().contains("not why"));
    }
}
