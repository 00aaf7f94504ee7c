//! A command line as Go's package `flag` reads it, but for words that are no flags: Go stops there and forgets the rest;
//! here they are refused.

/// The words of a command line that are still to be read.
pub(super) struct Words<'a>(std::slice::Iter<'a, String>);

/// One flag: its name without dashes, and what stands after its `=`.
pub(super) struct Word<'a> {
    pub(super) name: &'a str,
    value: Option<&'a str>,
}

impl<'a> Words<'a> {
    pub(super) fn new(arguments: &'a [String]) -> Self {
        Self(arguments.iter())
    }

    /// The next flag.
    pub(super) fn next(&mut self) -> Result<Option<Word<'a>>, String> {
        let Some(text) = self.0.next() else { return Ok(None) };
        if text == "--" {
            return self.0.next().map_or(Ok(None), |rest| Err(stray(rest)));
        }
        let flag = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).filter(|flag| !flag.is_empty());
        let flag = flag.ok_or_else(|| stray(text))?;
        if flag.starts_with(['-', '=']) {
            return Err(format!("{text:?} is no flag: a flag is -name, -name=value or -name value"));
        }
        Ok(Some(match flag.split_once('=') {
            Some((name, value)) => Word { name, value: Some(value) },
            None => Word { name: flag, value: None },
        }))
    }

    /// The value of a flag that is no switch: what stands after its `=`, else the next word, whatever that looks like.
    pub(super) fn value(&mut self, word: &Word<'a>) -> Result<&'a str, String> {
        let value = word.value.or_else(|| self.0.next().map(String::as_str));
        value.ok_or_else(|| format!("-{} needs a value", word.name))
    }
}

impl Word<'_> {
    /// Whether a switch is on.
    pub(super) fn switch(&self) -> Result<bool, String> {
        match self.value {
            None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            Some(other) => Err(self.invalid(other, "it takes true or false")),
        }
    }

    /// What is said of a value that does not do.
    pub(super) fn invalid(&self, value: &str, why: &str) -> String {
        format!("-{} cannot be {value:?}: {why}", self.name)
    }
}

fn stray(word: &str) -> String {
    format!("{word:?} is no flag, and only flags are taken; a switch takes its value as in -cluster-wide=true")
}
