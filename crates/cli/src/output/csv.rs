//! Comma-separated values (RFC 4180, with line feeds alone).

/// Writes one line. Null is an empty field, an empty string is `""`.
pub(super) fn write_line<'a>(out: &mut String, cells: impl Iterator<Item = Option<&'a str>>) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            out.push(',');
        }
        match cell {
            None => {}
            Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
                out.push('"');
                out.push_str(&text.replace('"', "\"\""));
                out.push('"');
            }
            Some(text) => out.push_str(text),
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_only_what_needs_it() {
        let mut out = String::new();
        write_line(&mut out, [Some("a b"), None, Some(""), Some("x,y"), Some("say \"hi\"\n")].into_iter());
        assert_eq!(out, "a b,,\"\",\"x,y\",\"say \"\"hi\"\"\n\"\n");
    }
}
