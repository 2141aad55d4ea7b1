//! Where statements end.

/// The statements of a text, without their semicolons; the last may do without one.
pub(crate) fn statements(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut rest = text;
    while let Some(end) = semicolon(rest) {
        statements.push(&rest[..end]);
        rest = &rest[end + 1..];
    }
    statements.push(rest);
    statements.retain(|statement| !is_blank(statement));
    statements
}

/// Whether text ends with a whole statement: with a semicolon outside quotes and comments.
pub(super) fn is_complete(text: &str) -> bool {
    let mut rest = text;
    let mut ended = false;
    while let Some(end) = semicolon(rest) {
        ended = true;
        rest = &rest[end + 1..];
    }
    ended && is_blank(rest)
}

/// Where the first semicolon outside quotes and comments is.
fn semicolon(text: &str) -> Option<usize> {
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        match (c, rest.peek()) {
            (';', _) => return Some(at),
            ('\'' | '"' | '`', _) => drop(rest.find(|(_, other)| *other == c)?),
            ('-', Some((_, '-'))) => drop(rest.find(|(_, c)| *c == '\n')?),
            ('/', Some((_, '*'))) => {
                rest.next();
                let mut previous = ' ';
                rest.find(|(_, c)| std::mem::replace(&mut previous, *c) == '*' && *c == '/')?;
            }
            _ => {}
        }
    }
    None
}

/// Nothing but spaces and whole comments.
fn is_blank(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        let comment = match (rest.strip_prefix("--"), rest.strip_prefix("/*")) {
            (Some(line), _) => Some(line.split_once('\n').map_or("", |(_, rest)| rest)),
            (None, Some(block)) => block.split_once("*/").map(|(_, rest)| rest),
            (None, None) => None,
        };
        match comment {
            Some(after) => rest = after.trim_start(),
            None => return rest.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semicolon_counts_outside_quotes_and_comments() {
        for text in ["select 1;", "select ';';", "select 1; -- done", "select /* ; */ 1 ;\n", "select 'it''s';", ";"] {
            assert!(is_complete(text), "{text}");
        }
        for text in [
            "",
            "select 1",
            "select ';",
            "select 1 -- ;",
            "select /* ;",
            "select \";\"",
            "select 1; x",
            "a /*/;",
            "a; /* b",
        ] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn texts_fall_apart_into_statements() {
        let cases: [(&str, &[&str]); 5] = [
            ("", &[]),
            (" ;; -- nothing\n; /* ; */", &[]),
            ("select 1", &["select 1"]),
            ("select ';';\nselect 2 -- ;\n;", &["select ';'", "\nselect 2 -- ;\n"]),
            ("a; 'open", &["a", " 'open"]),
        ];
        for (text, expected) in cases {
            assert_eq!(statements(text), expected, "{text}");
        }
    }
}
