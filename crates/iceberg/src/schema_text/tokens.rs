//! Words, numbers and symbols of a schema or partition text.

use std::ops::RangeInclusive;
use std::rc::Rc;

use crate::{Error, ErrorKind, Result};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A plain word: a type, a keyword or a name.
    Word(String),
    /// A name in double quotes or backticks.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    Number(u32),
    Symbol(char),
    End,
}

/// The tokens of one text, and how far they are taken.
#[derive(Debug, Clone)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    what: &'static str,
    /// Each token with the offset at which it starts.
    all: Rc<[(usize, Token)]>,
    next: usize,
}

impl<'a> Tokens<'a> {
    /// Splits `text`; `what` it is, for errors.
    pub(super) fn new(text: &'a str, what: &'static str) -> Result<Self> {
        let invalid = |at: usize, message: &str| {
            Error::new(ErrorKind::InvalidInput, format!("invalid {what} '{text}': {message} at '{}'", &text[at..]))
        };
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            let rest = &text[at..];
            let (token, length) = if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            } else if first == '"' || first == '`' || first == '\'' {
                let (content, length) = quoted(rest, first).ok_or_else(|| invalid(at, "no closing quote"))?;
                (if first == '\'' { Token::Text(content) } else { Token::Quoted(content) }, length)
            } else if first.is_ascii_digit() {
                let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                let number = rest[..length].parse().map_err(|_| invalid(at, "the number is too large"))?;
                (Token::Number(number), length)
            } else if starts_word(first) {
                let length = rest.find(|c| !continues_word(c)).unwrap_or(rest.len());
                (Token::Word(rest[..length].to_owned()), length)
            } else {
                (Token::Symbol(first), first.len_utf8())
            };
            tokens.push((at, token));
            at += length;
        }
        tokens.push((at, Token::End));
        Ok(Self { text, what, all: tokens.into(), next: 0 })
    }

    /// The next token, not taken.
    pub(super) fn peek(&self) -> &Token {
        // The last token is always `End`, and nothing goes past it.
        &self.all[self.next].1
    }

    /// Takes the next token if it is this one.
    pub(super) fn take(&mut self, token: &Token) -> bool {
        let same = self.peek() == token;
        if same {
            self.advance();
        }
        same
    }

    /// Takes the next token if it is this keyword.
    pub(super) fn take_word(&mut self, keyword: &str) -> bool {
        let same = matches!(self.peek(), Token::Word(word) if word.eq_ignore_ascii_case(keyword));
        if same {
            self.advance();
        }
        same
    }

    /// Takes this token, or fails saying what was `wanted`.
    pub(super) fn expect(&mut self, token: &Token, wanted: &str) -> Result<()> {
        if self.take(token) { Ok(()) } else { Err(self.expected(wanted)) }
    }

    /// Takes a plain word.
    pub(super) fn word(&mut self, wanted: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Word(word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(wanted)),
        }
    }

    /// Takes a name, quoted or not.
    pub(super) fn name(&mut self, wanted: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Word(name) | Token::Quoted(name) if !name.is_empty() => {
                self.advance();
                Ok(name)
            }
            _ => Err(self.expected(wanted)),
        }
    }

    /// Takes a text in single quotes.
    pub(super) fn text(&mut self, wanted: &str) -> Result<String> {
        match self.peek().clone() {
            Token::Text(text) => {
                self.advance();
                Ok(text)
            }
            _ => Err(self.expected(wanted)),
        }
    }

    /// Takes a number within a range.
    pub(super) fn number(&mut self, wanted: &str, range: RangeInclusive<u32>) -> Result<u32> {
        match *self.peek() {
            Token::Number(number) if range.contains(&number) => {
                self.advance();
                Ok(number)
            }
            _ => Err(self.expected(wanted)),
        }
    }

    /// The error that something else was expected here.
    pub(super) fn expected(&self, wanted: &str) -> Error {
        match self.text[self.all[self.next].0..].trim() {
            "" => self.error(&format!("expected {wanted} at its end")),
            rest => self.error(&format!("expected {wanted} at '{rest}'")),
        }
    }

    /// An error about this text.
    pub(super) fn error(&self, message: &str) -> Error {
        Error::new(ErrorKind::InvalidInput, format!("invalid {} '{}': {message}", self.what, self.text))
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.all.len() - 1);
    }
}

/// Whether a name needs no quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    name.starts_with(starts_word) && name.chars().all(continues_word)
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn continues_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// The content of a quoted text, in which a doubled quote stands for one, and its length with quotes.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            content.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Some((content, at + quote.len_utf8()));
        }
    }
    None
}
