//! Parses a command line as Go's package `flag` does, with one difference: at the first argument that is not a flag, Go stops and
//! ignores the rest; this parser rejects it.

/// The arguments of a command line that are still to be parsed.
pub(super) struct FlagParser<'a>(std::slice::Iter<'a, String>);

/// One flag: its name without dashes, and what follows its `=`.
pub(super) struct GoFlag<'a> {
    pub(super) name: &'a str,
    value: Option<&'a str>,
}

impl<'a> FlagParser<'a> {
    pub(super) fn new(arguments: &'a [String]) -> Self {
        Self(arguments.iter())
    }

    /// The next flag.
    pub(super) fn next(&mut self) -> Result<Option<GoFlag<'a>>, String> {
        let Some(text) = self.0.next() else { return Ok(None) };
        if text == "--" {
            return self.0.next().map_or(Ok(None), |rest| Err(unexpected_argument(rest)));
        }
        let flag = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).filter(|flag| !flag.is_empty());
        let flag = flag.ok_or_else(|| unexpected_argument(text))?;
        if flag.starts_with(['-', '=']) {
            return Err(format!("{text:?} is not a flag: use -name, -name=value or -name value"));
        }
        Ok(Some(match flag.split_once('=') {
            Some((name, value)) => GoFlag { name, value: Some(value) },
            None => GoFlag { name: flag, value: None },
        }))
    }

    /// The value of a flag that is not boolean: what follows its `=`, else the next argument, even if that looks like a flag.
    pub(super) fn value(&mut self, flag: &GoFlag<'a>) -> Result<&'a str, String> {
        let value = flag.value.or_else(|| self.0.next().map(String::as_str));
        value.ok_or_else(|| format!("-{} needs a value", flag.name))
    }
}

impl GoFlag<'_> {
    /// The value of a boolean flag.
    pub(super) fn boolean(&self) -> Result<bool, String> {
        match self.value {
            None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            Some(other) => Err(self.invalid(other, "the value must be true or false")),
        }
    }

    /// The message for an invalid value.
    pub(super) fn invalid(&self, value: &str, why: &str) -> String {
        format!("-{}: invalid value {value:?}: {why}", self.name)
    }
}

fn unexpected_argument(argument: &str) -> String {
    format!(
        "{argument:?} is not a flag: the command has no other arguments; set a boolean flag as in -cluster-wide=true"
    )
}
