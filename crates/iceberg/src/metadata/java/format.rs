//! How Java's JSON generator writes strings and numbers.

use std::fmt::LowerExp;
use std::io::{self, Write};

use serde_json::ser::{CharEscape, Formatter};

/// Compact JSON with Java's escapes and floating point numbers.
pub(super) struct JavaFormatter;

impl Formatter for JavaFormatter {
    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, char_escape: CharEscape) -> io::Result<()> {
        match char_escape {
            CharEscape::Quote => writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => writer.write_all(b"\\\\"),
            CharEscape::Solidus => writer.write_all(b"\\/"),
            CharEscape::Backspace => writer.write_all(b"\\b"),
            CharEscape::FormFeed => writer.write_all(b"\\f"),
            CharEscape::LineFeed => writer.write_all(b"\\n"),
            CharEscape::CarriageReturn => writer.write_all(b"\\r"),
            CharEscape::Tab => writer.write_all(b"\\t"),
            CharEscape::AsciiControl(byte) => write!(writer, "\\u{byte:04X}"),
        }
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        writer.write_all(number(value, value.abs() >= 1e-3 && value.abs() < 1e7).as_bytes())
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(number(value, value.abs() >= 1e-3 && value.abs() < 1e7).as_bytes())
    }
}

/// The shortest digits that mean the number: plain, or as `d.dE±n`, with a digit after the point in any case.
fn number(value: impl LowerExp, plain: bool) -> String {
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if digits.bytes().all(|digit| digit == b'0') {
        return format!("{sign}0.0");
    }
    let at_least_one = |fraction: &str| if fraction.is_empty() { "0".to_owned() } else { fraction.to_owned() };
    if !plain {
        return format!("{sign}{}.{}E{exponent}", &digits[..1], at_least_one(&digits[1..]));
    }
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    };
    let padded = format!("{digits:0<width$}", width = exponent + 1);
    format!("{sign}{}.{}", &padded[..=exponent], at_least_one(&padded[exponent + 1..]))
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::JavaFormatter;

    fn print(value: impl Serialize) -> String {
        let mut out = Vec::new();
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, JavaFormatter)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_those_of_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (100.0, "100.0"),
            (0.001, "0.001"),
            (0.012, "0.012"),
            (0.000_99, "9.9E-4"),
            (9_999_999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (1.234e20, "1.234E20"),
            (f64::MAX, "1.7976931348623157E308"),
        ] {
            assert_eq!(print(value), text);
        }
        assert_eq!(print(0.1_f32), "0.1");
        assert_eq!(print(1e10_f32), "1.0E10");
    }

    #[test]
    fn strings_are_escaped_as_java_does() {
        assert_eq!(print("\u{1f}\u{8}\"\\/\u{7f}é\u{2028}"), "\"\\u001F\\b\\\"\\\\/\u{7f}é\u{2028}\"");
    }
}
