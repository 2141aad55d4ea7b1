//! Where a statement ends.

/// Whether text is a whole statement: it ends with a semicolon outside quotes and comments.
pub(super) fn is_complete(text: &str) -> bool {
    let mut rest = text.chars().peekable();
    let mut ended = false;
    while let Some(c) = rest.next() {
        match c {
            '\'' | '"' | '`' => {
                ended = false;
                if !rest.by_ref().any(|other| other == c) {
                    return false;
                }
            }
            '-' if rest.peek() == Some(&'-') => {
                rest.by_ref().find(|c| *c == '\n');
            }
            '/' if rest.peek() == Some(&'*') => {
                rest.next();
                let mut previous = ' ';
                if !rest.by_ref().any(|c| std::mem::replace(&mut previous, c) == '*' && c == '/') {
                    return false;
                }
            }
            ';' => ended = true,
            c if c.is_whitespace() => {}
            _ => ended = false,
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn a_semicolon_counts_outside_quotes_and_comments() {
        for text in ["select 1;", "select ';';", "select 1; -- done", "select /* ; */ 1 ;\n", "select 'it''s';", ";"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["select 1", "select ';", "select 1 -- ;", "select /* ;", "select \";\"", "select 1; x", "a /*/;"] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
