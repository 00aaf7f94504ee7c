//! How a command becomes an argv.

use std::fmt::Display;

/// A command of the agent.
pub trait AgentCommand {
    /// Its name on the command line.
    const NAME: &'static str;

    /// Appends its flags, always in the same order and the same form: an argv that differs in one byte restarts the pod.
    fn render(&self, argv: &mut Argv);

    /// The argv after the program: the command's name and its flags.
    fn argv(&self) -> Vec<String> {
        let mut argv = Argv::default();
        argv.word(Self::NAME);
        self.render(&mut argv);
        argv.0
    }

    /// The command of a container in which the agent is this program.
    fn command(&self, agent: &str) -> Vec<String> {
        std::iter::once(agent.to_owned()).chain(self.argv()).collect()
    }
}

/// An argv that grows.
#[derive(Debug, Default)]
pub struct Argv(Vec<String>);

impl Argv {
    /// One word.
    pub fn word(&mut self, word: impl Display) {
        self.0.push(word.to_string());
    }

    /// `--flag value`, as two words.
    pub fn pair(&mut self, flag: &str, value: impl Display) {
        self.0.extend([format!("--{flag}"), value.to_string()]);
    }

    /// `--flag=value`.
    pub fn value(&mut self, flag: &str, value: impl Display) {
        self.0.push(format!("--{flag}={value}"));
    }

    /// `--flag=value` for each value.
    pub fn values(&mut self, flag: &str, values: impl IntoIterator<Item = impl Display>) {
        values.into_iter().for_each(|value| self.value(flag, value));
    }

    /// `--flag=value`, unless that is the default.
    pub fn unless_default<T: Default + Display + PartialEq>(&mut self, flag: &str, value: &T) {
        if *value != T::default() {
            self.value(flag, value);
        }
    }

    /// `--flag`, if it is set.
    pub fn switch(&mut self, flag: &str, set: bool) {
        if set {
            self.word(format_args!("--{flag}"));
        }
    }
}
