//! Flags by their names, for verbs that have many.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lexopt::{Arg, Parser};

use super::stop::{Stop, wrong};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Stands alone.
    Switch,
    /// Has a value, and is given once at most.
    Value,
    /// Has a value, and may be given again.
    Many,
}

#[derive(Debug)]
pub(super) struct Flags(Vec<(&'static str, OsString)>);

impl Flags {
    pub(super) fn read(parser: &mut Parser, known: &[(&'static str, Kind)]) -> Result<Self, Stop> {
        let mut flags = Self(Vec::new());
        while let Some(argument) = parser.next()? {
            let Arg::Long(name) = argument else {
                return Err(if argument == Arg::Short('h') { Stop::Help } else { argument.unexpected().into() });
            };
            let found = known.iter().find(|(flag, _)| *flag == name);
            let (flag, kind) = match found {
                Some(found) => *found,
                None if name == "help" => return Err(Stop::Help),
                None => return wrong(format!("there is no flag --{name}")),
            };
            if kind != Kind::Many && flags.is_set(flag) {
                return wrong(format!("--{flag} is given twice"));
            }
            let value = if kind == Kind::Switch { OsString::new() } else { parser.value()? };
            flags.0.push((flag, value));
        }
        Ok(flags)
    }

    pub(super) fn is_set(&self, flag: &str) -> bool {
        self.0.iter().any(|(name, _)| *name == flag)
    }

    /// The values of several flags, in the order in which they were given.
    pub(super) fn in_order<'a>(&'a self, flags: &'a [&str]) -> impl Iterator<Item = (&'static str, &'a OsString)> {
        self.0.iter().filter(|(name, _)| flags.contains(name)).map(|(name, value)| (*name, value))
    }

    pub(super) fn path(&self, flag: &str) -> Option<PathBuf> {
        self.0.iter().find(|(name, _)| *name == flag).map(|(_, value)| value.into())
    }

    pub(super) fn required(&self, flag: &str) -> Result<PathBuf, Stop> {
        self.path(flag).map_or_else(|| wrong(format!("--{flag} is missing")), Ok)
    }

    pub(super) fn texts(&self, flag: &str) -> Result<Vec<String>, Stop> {
        let values = self.0.iter().filter(|(name, _)| *name == flag);
        let text = |(_, value): &(&str, OsString)| {
            value.clone().into_string().or_else(|_| wrong(format!("--{flag} is not UTF-8")))
        };
        values.map(text).collect()
    }

    pub(super) fn text(&self, flag: &str) -> Result<Option<String>, Stop> {
        Ok(self.texts(flag)?.pop())
    }

    pub(super) fn required_text(&self, flag: &str) -> Result<String, Stop> {
        match self.text(flag)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => wrong(format!("--{flag} is missing")),
        }
    }

    pub(super) fn number<T: FromStr<Err: fmt::Display>>(&self, flag: &str) -> Result<Option<T>, Stop> {
        let Some(text) = self.text(flag)? else { return Ok(None) };
        text.parse().map(Some).or_else(|error| wrong(format!("--{flag} {text}: {error}")))
    }

    pub(super) fn required_number<T: FromStr<Err: fmt::Display>>(&self, flag: &str) -> Result<T, Stop> {
        self.number(flag)?.map_or_else(|| wrong(format!("--{flag} is missing")), Ok)
    }

    /// A day is for ever here, and some numbers of seconds no clock can count.
    pub(super) fn seconds(&self, flag: &str, otherwise: u64) -> Result<Duration, Stop> {
        Ok(Duration::from_secs(self.number(flag)?.unwrap_or(otherwise).min(86_400)))
    }
}
