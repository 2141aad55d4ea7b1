//! What a terminal is told: colours, widths, and nothing it could take for a command.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal as _};

use clap::ValueEnum;

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    // Plain comments: documented values would make every command's help long.
    // On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    // Even into a file or pipe.
    Always,
    // Not at all.
    Never,
}

/// Colours text, or leaves it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard output.
    pub(crate) fn stdout(choice: ColorChoice) -> Self {
        Self::when(choice, io::stdout().is_terminal())
    }

    /// For standard error.
    pub(crate) fn stderr(choice: ColorChoice) -> Self {
        Self::when(choice, io::stderr().is_terminal())
    }

    /// No colour.
    pub(crate) fn plain() -> Self {
        Self { on: false }
    }

    fn when(choice: ColorChoice, terminal: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            && std::env::var_os("TERM").is_none_or(|v| v != "dumb");
        Self { on: choice == ColorChoice::Always || choice == ColorChoice::Auto && terminal && wanted }
    }

    /// Whether it colours.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    fn wrap(self, code: &str, text: impl Display) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// A headline.
    pub(crate) fn bold(self, text: impl Display) -> String {
        self.wrap("1", text)
    }

    /// What matters less.
    pub(crate) fn dim(self, text: impl Display) -> String {
        self.wrap("2", text)
    }

    /// What the user may type.
    pub(crate) fn command(self, text: impl Display) -> String {
        self.wrap("36", text)
    }

    /// The word before an error.
    pub(crate) fn error(self, text: impl Display) -> String {
        self.wrap("1;31", text)
    }

    /// The word before a hint.
    pub(crate) fn hint(self, text: impl Display) -> String {
        self.wrap("1;33", text)
    }
}

/// Text with its control characters written out, so that data cannot give the terminal orders.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => drop(write!(out, "\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Columns of the terminal that standard error is, if it is one.
pub(crate) fn stderr_width() -> Option<usize> {
    usable_width(terminal_size::terminal_size_of(io::stderr()))
}

/// Columns of the terminal that standard output is, if it is one.
pub(crate) fn stdout_width() -> Option<usize> {
    usable_width(terminal_size::terminal_size_of(io::stdout()))
}

fn usable_width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> Option<usize> {
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width >= 20)
}

/// Text broken at spaces so that no line exceeds `width`, if words allow it: `taken` columns of the first line are taken,
/// further lines are indented.
pub(crate) fn wrapped(text: &str, width: Option<usize>, taken: usize, indent: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    let mut column = taken;
    for (i, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if i > 0 && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A length in bytes as people say it: `5.0 MiB`.
pub(crate) fn byte_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0u32, 12, 123, 1234, 336_776, 1_234_567].map(grouped),
            ["0", "12", "123", "1,234", "336,776", "1,234,567"]
        );
        assert_eq!([0, 1023, 1024, 5 << 20].map(byte_size), ["0 B", "1023 B", "1.0 KiB", "5.0 MiB"]);
    }

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(printable("a\tb\n\u{9b}é"), "a\\tb\\n\\x9bé");
    }
}
