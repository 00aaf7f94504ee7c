//! Pure: SQL text cut into statements, so that the one that fails can be named by its line.
//!
//! It cuts as psql does (src/fe_utils/psqlscan.l): at a `;` outside of quotes, dollar quotes, comments, parentheses and
//! the bodies of SQL-standard functions (`BEGIN ATOMIC ... END`).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// Where it begins, from 1.
    pub(crate) line: usize,
    /// Without the semicolon, and without comments before it.
    pub(crate) text: &'a str,
}

/// A text that does not end where it should: the line that the open quote or comment is in, and what it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

pub(crate) fn split(sql: &str) -> Result<Vec<Statement<'_>>, Open> {
    let mut scan = Scan { sql, at: 0 };
    let mut lines = Lines { sql, at: 0, line: 1 };
    let mut found = Vec::new();
    let mut current = Current::default();
    while let Some(part) = scan.next_part().map_err(|(at, what)| Open { line: lines.of(at), what })? {
        match part {
            Part::Space => continue,
            Part::Semicolon if current.ends() => {
                if let Some(start) = current.start {
                    let text = sql[start..scan.at - 1].trim_end();
                    found.push(Statement { line: lines.of(start), text });
                }
                current = Current::default();
                continue;
            }
            _ => {}
        }
        current.take(part);
        current.start.get_or_insert(scan.at - part.length());
    }
    if let Some(start) = current.start {
        found.push(Statement { line: lines.of(start), text: sql[start..].trim_end() });
    }
    Ok(found)
}

/// The words outside of quotes and comments, and what follows each of them.
pub(crate) fn words(sql: &str) -> Result<Vec<(&str, &str)>, Open> {
    let mut scan = Scan { sql, at: 0 };
    let mut found = Vec::new();
    let open = |(at, what)| Open { line: Lines { sql, at: 0, line: 1 }.of(at), what };
    while let Some(part) = scan.next_part().map_err(open)? {
        if let Part::Word(word) = part {
            found.push((word, &sql[scan.at..]));
        }
    }
    Ok(found)
}

/// The name that a text begins with, as it stands there: a quote in a quoted one is doubled.
pub(crate) fn name(text: &str) -> Option<&str> {
    let mut length = word_length(text);
    while let Some(more) = text.get(length..).filter(|rest| rest.starts_with('"')) {
        length += quoted_length(more, '"', false)?;
    }
    Some(&text[..length]).filter(|name| !name.is_empty())
}

/// Counts lines from where it was asked last, as files may be long.
struct Lines<'a> {
    sql: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// To be asked in order.
    fn of(&mut self, at: usize) -> usize {
        self.line += self.sql.as_bytes()[self.at..at].iter().filter(|byte| **byte == b'\n').count();
        self.at = at;
        self.line
    }
}

/// The statement that is being read.
#[derive(Default)]
struct Current<'a> {
    start: Option<usize>,
    parentheses: usize,
    /// `BEGIN` and `CASE` without their `END`, in a function's body.
    blocks: usize,
    /// The first words: only functions and procedures have bodies.
    words: Vec<&'a str>,
}

impl<'a> Current<'a> {
    fn ends(&self) -> bool {
        self.parentheses == 0 && self.blocks == 0
    }

    fn take(&mut self, part: Part<'a>) {
        match part {
            Part::Other("(") => self.parentheses += 1,
            Part::Other(")") => self.parentheses = self.parentheses.saturating_sub(1),
            Part::Word(word) => {
                if self.words.len() < 4 {
                    self.words.push(word);
                }
                let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
                if self.parentheses > 0 || !self.makes_a_function() {
                } else if is("begin") || (self.blocks > 0 && is("case")) {
                    self.blocks += 1;
                } else if is("end") {
                    self.blocks = self.blocks.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn makes_a_function(&self) -> bool {
        let is = |at: usize, keyword: &str| self.words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(keyword));
        let at = if is(1, "or") && is(2, "replace") { 3 } else { 1 };
        is(0, "create") && (is(at, "function") || is(at, "procedure"))
    }
}

#[derive(Clone, Copy)]
enum Part<'a> {
    /// White space, or a comment.
    Space,
    Semicolon,
    Word(&'a str),
    /// A quoted name or text, or one other character.
    Other(&'a str),
}

impl Part<'_> {
    fn length(self) -> usize {
        match self {
            Self::Word(text) | Self::Other(text) => text.len(),
            Self::Space | Self::Semicolon => 1,
        }
    }
}

struct Scan<'a> {
    sql: &'a str,
    at: usize,
}

type Unended = (usize, &'static str);

impl<'a> Scan<'a> {
    fn next_part(&mut self) -> Result<Option<Part<'a>>, Unended> {
        let start = self.at;
        let rest = &self.sql[start..];
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let unended = |what| (start, what);
        let word = word_length(rest);
        let (part, length): (fn(&'a str) -> Part<'a>, usize) = if rest.starts_with("--") {
            (|_| Part::Space, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (|_| Part::Space, comment_length(rest).ok_or_else(|| unended("comment"))?)
        } else if rest.starts_with(['e', 'E']) && rest[1..].starts_with('\'') {
            (Part::Other, 1 + quoted_length(&rest[1..], '\'', true).ok_or_else(|| unended("quote"))?)
        } else if first == '\'' || first == '"' {
            (Part::Other, quoted_length(rest, first, false).ok_or_else(|| unended("quote"))?)
        } else if let Some(tag) = dollar_tag(rest) {
            let end = rest[tag.len()..].find(tag).ok_or_else(|| unended("dollar quote"))?;
            (Part::Other, end + 2 * tag.len())
        } else if word > 0 {
            (Part::Word, word)
        } else if first.is_whitespace() {
            (|_| Part::Space, first.len_utf8())
        } else if first == ';' {
            (|_| Part::Semicolon, 1)
        } else {
            (Part::Other, first.len_utf8())
        };
        self.at += length;
        Ok(Some(part(&rest[..length])))
    }
}

/// A dollar within a word belongs to it: `a$b$c` holds no quote.
fn word_length(text: &str) -> usize {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    if !text.starts_with(begins) {
        return 0;
    }
    text.find(|c: char| !begins(c) && !c.is_ascii_digit() && c != '$').unwrap_or(text.len())
}

/// Comments nest.
fn comment_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
}

/// A doubled quote is two quoted parts in a row, which cuts the same.
fn quoted_length(text: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == quote {
            return Some(at + 1);
        }
        if escapes && character == '\\' {
            characters.next();
        }
    }
    None
}

fn dollar_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('$')?;
    let end = inner.find('$')?;
    let tag = &inner[..end];
    let fits = tag.is_empty() || (word_length(tag) == tag.len() && !tag.contains('$'));
    fits.then(|| &text[..end + 2])
}

/// Why a statement cannot be one of several in a transaction that the agent began. It is recognized by its words, as the space and
/// the comments between them may be any.
pub(crate) fn refusal(statement: &str) -> Option<&'static str> {
    if statement.starts_with('\\') {
        return Some("psql commands are not supported; use SQL");
    }
    let words: Vec<String> =
        words(statement).unwrap_or_default().iter().map(|(word, _)| word.to_ascii_uppercase()).collect();
    let second = words.get(1).map(String::as_str);
    match words.first()?.as_str() {
        "BEGIN" | "START" | "COMMIT" | "END" | "ABORT" => Some("it runs in a transaction already"),
        "ROLLBACK" if second != Some("TO") => Some("it runs in a transaction already"),
        "PREPARE" if second == Some("TRANSACTION") => Some("it runs in a transaction already"),
        // psql would take the statements that follow for rows.
        "COPY" if words.windows(2).any(|pair| pair == ["FROM", "STDIN"]) => {
            Some("COPY FROM STDIN is not supported; use INSERT")
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "statements_tests.rs"]
mod tests;
