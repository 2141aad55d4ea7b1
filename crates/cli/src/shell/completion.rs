//! Completion, and statements of several lines.

use rustyline::completion::{Completer, Pair};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};

use super::statement::is_complete;

const KEYWORDS: &[&str] = &[
    "and",
    "as",
    "asc",
    "avg",
    "between",
    "by",
    "case",
    "cast",
    "count",
    "cross",
    "date",
    "date_trunc",
    "desc",
    "describe",
    "distinct",
    "else",
    "end",
    "except",
    "exists",
    "explain",
    "extract",
    "false",
    "from",
    "full",
    "group",
    "having",
    "in",
    "inner",
    "intersect",
    "interval",
    "is",
    "join",
    "left",
    "like",
    "limit",
    "max",
    "min",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "outer",
    "over",
    "partition",
    "right",
    "round",
    "select",
    "show",
    "sum",
    "then",
    "timestamp",
    "true",
    "union",
    "using",
    "when",
    "where",
    "with",
];

/// Names that Tab knows besides keywords.
#[derive(Debug, Default)]
pub(crate) struct Words {
    names: Vec<String>,
}

impl Words {
    /// From the names of tables and columns.
    pub(crate) fn new(mut names: Vec<String>) -> Self {
        names.sort_unstable();
        names.dedup();
        Self { names }
    }

    /// All that start with what was typed, in any case and with or without quotes: names as they are, keywords as the user
    /// types.
    fn completions(&self, typed: &str) -> Vec<String> {
        let unquoted = |text: &str| text.replace('"', "");
        let wanted = unquoted(typed);
        let matches = |word: &str| {
            let word = unquoted(word);
            word.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(&wanted))
        };
        let upper = typed.chars().any(char::is_uppercase) && !typed.chars().any(char::is_lowercase);
        let keyword = |word: &&&str| matches(word) && !typed.contains(['.', '"']);
        let keywords =
            KEYWORDS.iter().filter(keyword).map(|word| if upper { word.to_uppercase() } else { (*word).to_owned() });
        self.names.iter().filter(|name| matches(name)).cloned().chain(keywords).collect()
    }
}

#[derive(Debug, Helper, Highlighter, Hinter)]
pub(super) struct ShellHelper {
    words: Words,
}

impl ShellHelper {
    pub(super) fn new(words: Words) -> Self {
        Self { words }
    }
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..position];
        let is_part = |c: char| c.is_alphanumeric() || "_.\"".contains(c);
        let start =
            before.rfind(|c| !is_part(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let typed = &before[start..];
        if typed.is_empty() {
            return Ok((position, Vec::new()));
        }
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, self.words.completions(typed).into_iter().map(pair).collect()))
    }
}

impl Validator for ShellHelper {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input().trim();
        let single = text.is_empty() || text.starts_with('\\') || ["quit", "exit", "help"].contains(&text);
        Ok(if single || is_complete(text) { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_keywords_complete() {
        let words = Words::new(vec!["shop.orders".into(), "shop".into(), "selected_on".into()]);
        assert_eq!(words.completions("sel"), ["selected_on", "select"]);
        assert_eq!(words.completions("SEL"), ["selected_on", "SELECT"]);
        assert_eq!(words.completions("shop."), ["shop.orders"]);
        assert!(words.completions("é").is_empty());
        let words = Words::new(vec!["\"Shop\".\"Orders\"".into()]);
        for typed in ["shop", "Shop.", "\"Shop\".o", "\"sho"] {
            assert_eq!(words.completions(typed), ["\"Shop\".\"Orders\""], "{typed}");
        }
    }
}
