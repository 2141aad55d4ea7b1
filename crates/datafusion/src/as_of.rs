//! `VERSION AS OF` and `TIMESTAMP AS OF` after a table's name.
//!
//! The parser does not know them in the dialect that DataFusion speaks, so the text is changed before it is parsed:
//! a name with its clause becomes one quoted name, in the form of [`TableName`]. Everything else stays as it was typed.

use std::borrow::Cow;

use arrow::array::timezone::Tz;
use datafusion::common::{plan_datafusion_err, plan_err};
use datafusion::error::Result;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use lakelock_iceberg::TableVersion;

use crate::table_name::{self, TableName};

/// What the text depends on besides itself.
pub(crate) struct Options<'a> {
    pub(crate) dialect: &'a dyn Dialect,
    /// Names that are not quoted are in lower case.
    pub(crate) lower_case: bool,
    /// Of times that name no zone.
    pub(crate) zone: Tz,
}

/// The text with every clause turned into a suffix of the name before it.
///
/// # Errors
/// For a clause whose version cannot be understood.
pub(crate) fn rewrite<'a>(text: &'a str, options: &Options<'_>) -> Result<Cow<'a, str>> {
    // What is no SQL is the parser's to complain of.
    let Ok(tokens) = Tokenizer::new(options.dialect, text).tokenize_with_location() else {
        return Ok(Cow::Borrowed(text));
    };
    let tokens: Vec<_> = tokens.into_iter().filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF)).collect();
    let mut rewritten = String::new();
    let mut copied = 0;
    let mut cursor = Cursor { text, offset: 0, at: Location { line: 1, column: 1 } };
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        let Some(name) = name(&token.token, options.lower_case) else { continue };
        let Some((version, length)) = Clause(after).parse(options.zone)? else { continue };
        let (clause, after) = after.split_at(length);
        rest = after;
        let name = TableName { table: name, metadata_table: None, version: Some(version) }.to_string();
        rewritten.push_str(&text[copied..cursor.advance(token.span.start)]);
        rewritten.push('"');
        rewritten.push_str(&name.replace('"', "\"\""));
        rewritten.push('"');
        if let Some(last) = clause.last() {
            copied = cursor.advance(last.span.end);
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(text));
    }
    rewritten.push_str(&text[copied..]);
    Ok(Cow::Owned(rewritten))
}

/// The name that a token may be the last part of.
fn name(token: &Token, lower_case: bool) -> Option<String> {
    let Token::Word(word) = token else { return None };
    match word.quote_style {
        None if matches!(word.keyword, Keyword::FROM | Keyword::JOIN | Keyword::SELECT) => None,
        None if lower_case => Some(word.value.to_ascii_lowercase()),
        _ => Some(word.value.clone()),
    }
}

/// Finds places in a text by line and column, forwards only.
struct Cursor<'a> {
    text: &'a str,
    offset: usize,
    at: Location,
}

impl Cursor<'_> {
    fn advance(&mut self, to: Location) -> usize {
        for c in self.text[self.offset..].chars() {
            if (self.at.line, self.at.column) >= (to.line, to.column) {
                break;
            }
            self.offset += c.len_utf8();
            self.at = if c == '\n' {
                Location { line: self.at.line + 1, column: 1 }
            } else {
                Location { line: self.at.line, column: self.at.column + 1 }
            };
        }
        self.offset
    }
}

/// The tokens that may be a clause: `[FOR] VERSION | SYSTEM_VERSION | TIMESTAMP | SYSTEM_TIME AS OF value`.
struct Clause<'a>(&'a [TokenWithSpan]);

impl Clause<'_> {
    /// The version, and the number of tokens that name it.
    fn parse(&self, zone: Tz) -> Result<Option<(TableVersion, usize)>> {
        let start = usize::from(self.is_word(0, "for"));
        let by_version = self.is_word(start, "version") || self.is_word(start, "system_version");
        let by_timestamp = self.is_word(start, "timestamp") || self.is_word(start, "system_time");
        if !(by_version || by_timestamp) || !self.is_word(start + 1, "as") || !self.is_word(start + 2, "of") {
            return Ok(None);
        }
        let value = start + 3;
        let (version, length) = if by_version { self.version(value)? } else { self.timestamp(value, zone)? };
        // Else `version as of` may be a column with an alias.
        Ok(version.map(|version| (version, value + length)))
    }

    fn version(&self, at: usize) -> Result<(Option<TableVersion>, usize)> {
        if let Some((number, length)) = self.number(at) {
            let id = number.parse().map_err(|_| plan_datafusion_err!("{number} in VERSION AS OF is no snapshot id"))?;
            return Ok((Some(TableVersion::Snapshot(id)), length));
        }
        Ok((self.text(at).map(table_name::version), 1))
    }

    fn timestamp(&self, at: usize, zone: Tz) -> Result<(Option<TableVersion>, usize)> {
        if let Some((number, length)) = self.number(at) {
            let ms = milliseconds(&number)
                .ok_or_else(|| plan_datafusion_err!("{number} in TIMESTAMP AS OF are no seconds since 1970"))?;
            return Ok((Some(TableVersion::Timestamp(ms)), length));
        }
        let typed = usize::from(self.is_word(at, "timestamp") || self.is_word(at, "date"));
        let Some(text) = self.text(at + typed) else {
            if self.is_call(at) {
                return plan_err!(
                    "TIMESTAMP AS OF takes no expression but a time such as '2026-01-02 03:04:05', or seconds since 1970"
                );
            }
            return Ok((None, 0));
        };
        let Some(version) = table_name::timestamp(text, zone) else {
            return plan_err!("'{text}' in TIMESTAMP AS OF is no time: say it like '2026-01-02 03:04:05'");
        };
        Ok((Some(version), typed + 1))
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.0.get(at).map(|token| &token.token)
    }

    fn is_word(&self, at: usize, expected: &str) -> bool {
        matches!(self.token(at), Some(Token::Word(word))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
    }

    fn is_call(&self, at: usize) -> bool {
        match self.token(at) {
            Some(Token::LParen) => true,
            Some(Token::Word(_)) => self.token(at + 1) == Some(&Token::LParen),
            _ => false,
        }
    }

    /// A text in quotes of either kind, as Spark takes it.
    fn text(&self, at: usize) -> Option<&str> {
        match self.token(at)? {
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => Some(text),
            Token::Word(word) if word.quote_style.is_some() => Some(&word.value),
            _ => None,
        }
    }

    /// A number, and how many tokens it has.
    fn number(&self, at: usize) -> Option<(String, usize)> {
        match (self.token(at)?, self.token(at + 1)) {
            (Token::Number(digits, _), _) => Some((digits.clone(), 1)),
            (Token::Minus, Some(Token::Number(digits, _))) => Some((format!("-{digits}"), 2)),
            _ => None,
        }
    }
}

/// Seconds, with a fraction or not, as milliseconds rounded down.
fn milliseconds(seconds: &str) -> Option<i64> {
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let negative = seconds.starts_with('-');
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let below: i64 = digits.parse().ok()?;
    let rest = fraction.get(3..).is_some_and(|rest| rest.bytes().any(|digit| digit != b'0'));
    let whole = seconds.parse::<i64>().ok()?.checked_mul(1000)?;
    let ms = if negative { whole.checked_sub(below + i64::from(rest))? } else { whole.checked_add(below)? };
    // Whatever is later than the calendar goes is no time that somebody means.
    chrono::DateTime::from_timestamp_millis(ms).map(|_| ms)
}

#[cfg(test)]
mod tests;
