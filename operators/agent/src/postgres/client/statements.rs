//! Pure: splits SQL text into statements, so that a failure can name the line of its statement.
//!
//! It splits as psql does (src/fe_utils/psqlscan.l): at a `;` outside of quotes, dollar quotes, comments, parentheses and the
//! bodies of SQL-standard functions (`BEGIN ATOMIC ... END`).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// The line in which it begins, from 1.
    pub(crate) line: usize,
    /// Without the semicolon, and without comments before it.
    pub(crate) text: &'a str,
}

/// An unterminated quote or comment: the line in which it begins, and its kind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unterminated {
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

pub(crate) fn split(sql: &str) -> Result<Vec<Statement<'_>>, Unterminated> {
    let mut scan = Scan { sql, at: 0 };
    let mut lines = Lines { sql, at: 0, line: 1 };
    let mut found = Vec::new();
    let mut current = Current::default();
    while let Some(part) = scan.next_part().map_err(|(at, what)| Unterminated { line: lines.of(at), what })? {
        match part {
            SqlPart::Space => continue,
            SqlPart::Semicolon if current.ends() => {
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

/// The tokens outside of quotes and comments, each with the text after it.
pub(crate) fn tokens(sql: &str) -> Result<Vec<(&str, &str)>, Unterminated> {
    let mut scan = Scan { sql, at: 0 };
    let mut found = Vec::new();
    let open = |(at, what)| Unterminated { line: Lines { sql, at: 0, line: 1 }.of(at), what };
    while let Some(part) = scan.next_part().map_err(open)? {
        if let SqlPart::Token(token) = part {
            found.push((token, &sql[scan.at..]));
        }
    }
    Ok(found)
}

/// The name with which a text begins, as it is written: a quote in a quoted one is doubled.
pub(crate) fn name(text: &str) -> Option<&str> {
    let mut length = token_length(text);
    while let Some(more) = text.get(length..).filter(|rest| rest.starts_with('"')) {
        length += quoted_length(more, '"', false)?;
    }
    Some(&text[..length]).filter(|name| !name.is_empty())
}

/// Counts lines from the last position, as files may be long.
struct Lines<'a> {
    sql: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of a position, which must not be before the last one.
    fn of(&mut self, at: usize) -> usize {
        self.line += self.sql.as_bytes()[self.at..at].iter().filter(|byte| **byte == b'\n').count();
        self.at = at;
        self.line
    }
}

/// The state of the statement that is being read.
#[derive(Default)]
struct Current<'a> {
    start: Option<usize>,
    parentheses: usize,
    /// `BEGIN` and `CASE` without their `END`, in a function's body.
    blocks: usize,
    /// The first tokens: only functions and procedures have bodies.
    tokens: Vec<&'a str>,
}

impl<'a> Current<'a> {
    fn ends(&self) -> bool {
        self.parentheses == 0 && self.blocks == 0
    }

    fn take(&mut self, part: SqlPart<'a>) {
        match part {
            SqlPart::Other("(") => self.parentheses += 1,
            SqlPart::Other(")") => self.parentheses = self.parentheses.saturating_sub(1),
            SqlPart::Token(token) => {
                if self.tokens.len() < 4 {
                    self.tokens.push(token);
                }
                let is = |keyword: &str| token.eq_ignore_ascii_case(keyword);
                if self.parentheses > 0 || !self.creates_function() {
                } else if is("begin") || (self.blocks > 0 && is("case")) {
                    self.blocks += 1;
                } else if is("end") {
                    self.blocks = self.blocks.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    fn creates_function(&self) -> bool {
        let is =
            |at: usize, keyword: &str| self.tokens.get(at).is_some_and(|token| token.eq_ignore_ascii_case(keyword));
        let at = if is(1, "or") && is(2, "replace") { 3 } else { 1 };
        is(0, "create") && (is(at, "function") || is(at, "procedure"))
    }
}

#[derive(Clone, Copy)]
enum SqlPart<'a> {
    /// White space, or a comment.
    Space,
    Semicolon,
    Token(&'a str),
    /// A quoted name or text, or one other character.
    Other(&'a str),
}

impl SqlPart<'_> {
    fn length(self) -> usize {
        match self {
            Self::Token(text) | Self::Other(text) => text.len(),
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
    fn next_part(&mut self) -> Result<Option<SqlPart<'a>>, Unended> {
        let start = self.at;
        let rest = &self.sql[start..];
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let unended = |what| (start, what);
        let token = token_length(rest);
        let (part, length): (fn(&'a str) -> SqlPart<'a>, usize) = if rest.starts_with("--") {
            (|_| SqlPart::Space, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (|_| SqlPart::Space, comment_length(rest).ok_or_else(|| unended("comment"))?)
        } else if rest.starts_with(['e', 'E']) && rest[1..].starts_with('\'') {
            (SqlPart::Other, 1 + quoted_length(&rest[1..], '\'', true).ok_or_else(|| unended("quote"))?)
        } else if first == '\'' || first == '"' {
            (SqlPart::Other, quoted_length(rest, first, false).ok_or_else(|| unended("quote"))?)
        } else if let Some(tag) = dollar_tag(rest) {
            let end = rest[tag.len()..].find(tag).ok_or_else(|| unended("dollar quote"))?;
            (SqlPart::Other, end + 2 * tag.len())
        } else if token > 0 {
            (SqlPart::Token, token)
        } else if first.is_whitespace() {
            (|_| SqlPart::Space, first.len_utf8())
        } else if first == ';' {
            (|_| SqlPart::Semicolon, 1)
        } else {
            (SqlPart::Other, first.len_utf8())
        };
        self.at += length;
        Ok(Some(part(&rest[..length])))
    }
}

/// The length of the token with which a text begins. A dollar within a token belongs to it: `a$b$c` has no quote.
fn token_length(text: &str) -> usize {
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

/// The length of the quoted part with which a text begins. A doubled quote counts as two parts in a row, which splits the same.
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
    let fits = tag.is_empty() || (token_length(tag) == tag.len() && !tag.contains('$'));
    fits.then(|| &text[..end + 2])
}

/// Why a statement cannot be one of several in a transaction that the agent began. It is recognized by its tokens, since any
/// space and comments may be between them.
pub(crate) fn refusal(statement: &str) -> Option<&'static str> {
    if statement.starts_with('\\') {
        return Some("psql commands are not supported; use SQL");
    }
    let tokens: Vec<String> =
        tokens(statement).unwrap_or_default().iter().map(|(token, _)| token.to_ascii_uppercase()).collect();
    let second = tokens.get(1).map(String::as_str);
    match tokens.first()?.as_str() {
        "BEGIN" | "START" | "COMMIT" | "END" | "ABORT" => Some("it runs in a transaction already"),
        "ROLLBACK" if second != Some("TO") => Some("it runs in a transaction already"),
        "PREPARE" if second == Some("TRANSACTION") => Some("it runs in a transaction already"),
        // psql would take the statements that follow for rows.
        "COPY" if tokens.windows(2).any(|pair| pair == ["FROM", "STDIN"]) => {
            Some("COPY FROM STDIN is not supported; use INSERT")
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "statements_tests.rs"]
mod tests;
