//! Pure: how a command fails.

use agent_protocol::FailureMessage;
pub(crate) use agent_protocol::FailureReason as Reason;
use serde::Serialize;

/// The kubelet truncates a termination message after 4096 bytes, which would leave half of a JSON object. Escapes and the reason
/// need space too.
const LONGEST_MESSAGE: usize = 2500;

/// Why a command failed, as short as a termination message must be.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct CommandFailure(FailureMessage);

impl CommandFailure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        let message = message.into();
        let shown = cut(&message, LONGEST_MESSAGE);
        let message = if shown.len() < message.len() { format!("{shown} ...") } else { message };
        Self(FailureMessage { reason, message, closed: None })
    }

    pub(crate) fn with_closed(self, closed: bool) -> Self {
        Self(FailureMessage { closed: Some(closed), ..self.0 })
    }

    pub(crate) fn reason(&self) -> Reason {
        self.0.reason
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }
}

/// Truncates a text to so many bytes.
pub(crate) fn cut(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

/// The first of some sentences, each truncated so that they fit into a termination message, and how many more there are. Control
/// characters, which a user's name may have, are replaced, as each would take six bytes there.
pub(crate) fn in_short(sentences: &[String], most: usize, bytes: usize) -> Vec<String> {
    const CUT: &str = " ...";
    let short = |sentence: &String| {
        let plain = sentence.replace(char::is_control, " ");
        if plain.len() <= bytes { plain } else { format!("{}{CUT}", cut(&plain, bytes.saturating_sub(CUT.len()))) }
    };
    if sentences.len() <= most {
        return sentences.iter().map(short).collect();
    }
    // The operator keeps no more than `most`.
    let mut shown: Vec<String> = sentences.iter().take(most.saturating_sub(1)).map(short).collect();
    shown.push(format!("and {} more", sentences.len() - shown.len()));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits_into_what_the_kubelet_keeps() {
        let failure = CommandFailure::new(Reason::ToolFailed, "\u{e4}\"".repeat(4000));
        assert!(serde_json::to_vec(&failure).unwrap().len() < 4096);
        let sentences = in_short(&vec!["\u{1}".repeat(300); 9], 5, 200);
        assert!(serde_json::to_vec(&sentences).unwrap().len() < 1100);
        assert_eq!((sentences.len(), sentences[4].as_str()), (5, "and 5 more"));
        assert!(sentences[0].len() == 200 && sentences[0].ends_with(" ..."));
        assert_eq!(in_short(&["a".into(), "b".into()], 2, 200), ["a", "b"]);
    }
}
