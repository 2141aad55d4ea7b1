//! Values as `DuckDB` writes them in text: in defaults, in bounds of files, and in rows that a catalog without its types keeps.

/// A truth value.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "t" | "1" => Some(true),
        "false" | "f" | "0" => Some(false),
        _ => None,
    }
}

/// The unscaled value of a decimal with `scale` digits after the point; no digit is dropped.
pub(crate) fn decimal(text: &str, scale: u8) -> Option<i128> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let (kept, rest) = fraction.split_at_checked(scale.into()).unwrap_or((fraction, ""));
    if rest.bytes().any(|digit| digit != b'0') {
        return None;
    }
    let padding = usize::from(scale) - kept.len();
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(kept.bytes()).chain(std::iter::repeat_n(b'0', padding)) {
        let digit = char::from(digit).to_digit(10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(if negative { -value } else { value })
}

/// Days since 1970.
pub(crate) fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    match text {
        "infinity" => return Some(i32::MAX),
        "-infinity" => return Some(-i32::MAX),
        _ => {}
    }
    let (text, before_christ) = match text.strip_suffix("(BC)").or(text.strip_suffix("BC")) {
        Some(text) => (text.trim_end(), true),
        None => (text, false),
    };
    let (rest, day) = text.rsplit_once('-')?;
    let (year, month) = rest.rsplit_once('-')?;
    let (year, month, day): (i64, u8, u8) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    // There is no year 0: 1 BC is the year before 1.
    let year = if before_christ { 1 - year } else { year };
    i32::try_from(days(year, month, day)?).ok()
}

/// Nanoseconds since midnight.
pub(crate) fn time(text: &str) -> Option<i64> {
    let mut parts = text.trim().splitn(3, ':');
    let (hours, minutes) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let (seconds, fraction) = match parts.next() {
        Some(seconds) => seconds.split_once('.').unwrap_or((seconds, "")),
        None => ("00", ""),
    };
    let seconds = two_digits(seconds)?;
    if minutes > 59 || seconds > 59 || hours > 24 || fraction.len() > 9 || !all_digits(fraction) {
        return None;
    }
    let nanoseconds: i64 = format!("{fraction:0<9}").parse().ok()?;
    let all = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanoseconds;
    (all <= 24 * 3600 * 1_000_000_000).then_some(all)
}

/// Nanoseconds since 1970, of UTC where no offset is given.
pub(crate) fn timestamp(text: &str) -> Option<i128> {
    const DAY: i128 = 24 * 3600 * 1_000_000_000;
    let text = text.trim();
    let (day, rest) = match text.split_once([' ', 'T']) {
        Some((day, rest)) => (day, rest.trim()),
        None => (text, "00:00:00"),
    };
    let (day, rest) = match rest.strip_prefix("(BC)") {
        Some(rest) => (date(&format!("{day} (BC)"))?, rest.trim()),
        None => (date(day)?, rest),
    };
    let (clock, offset) = match rest.strip_suffix('Z') {
        Some(clock) => (clock, 0),
        None => match rest.rfind(['+', '-']) {
            Some(at) => (&rest[..at], offset_seconds(&rest[at..])?),
            None => (rest, 0),
        },
    };
    Some(i128::from(day) * DAY + i128::from(time(clock)?) - i128::from(offset) * 1_000_000_000)
}

/// `+02`, `-05:30`, `+01:02:03`.
fn offset_seconds(text: &str) -> Option<i64> {
    let (sign, text) = text.strip_prefix('-').map_or((1, text.strip_prefix('+')), |text| (-1, Some(text)));
    let mut seconds = 0;
    let mut weight = 3600;
    for part in text?.splitn(3, ':') {
        seconds += two_digits(part)? * weight;
        weight /= 60;
    }
    Some(sign * seconds)
}

fn two_digits(text: &str) -> Option<i64> {
    ((1..=2).contains(&text.len()) && all_digits(text)).then(|| text.parse().ok())?
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Days from the first of March of the year 0 to 1970.
const FIRST_OF_MARCH_0000: i64 = 719_468;

/// The number of a day of the proleptic Gregorian calendar, if there is one.
fn days(year: i64, month: u8, day: u8) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + u8::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) || !(-6_000_000..=6_000_000).contains(&year) {
        return None;
    }
    // Years begin in March here, so that the day that may be missing is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_month = (153 * i64::from(month) + 2) / 5;
    let before_year = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(before_year + before_month + i64::from(day) - 1 - FIRST_OF_MARCH_0000)
}

/// The bytes of a BLOB: `\x` and two digits stand for what is no printable ASCII.
pub(crate) fn blob(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        match (first, after) {
            (b'\\', [b'x' | b'X', digits @ ..]) => {
                bytes.extend(hex::decode(digits.get(..2)?).ok()?);
                rest = &digits[2..];
            }
            (b'\\', _) => return None,
            (byte, after) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    Some(bytes)
}

/// The values of a LIST, `[a, NULL, 'b c']`.
pub(crate) fn list(text: &str) -> Option<Vec<Option<String>>> {
    let mut cursor = Cursor::within(text, '[', ']')?;
    let mut values = Vec::new();
    if cursor.at_end() {
        return Some(values);
    }
    loop {
        values.push(cursor.value(&[',']).ok()?);
        if cursor.at_end() {
            return Some(values);
        }
        cursor.skip();
    }
}

/// The names and values of a STRUCT, `{'a': 1, 'b': NULL}`.
pub(crate) fn fields(text: &str) -> Option<Vec<(String, Option<String>)>> {
    pairs(text, ':')?.into_iter().map(|(name, value)| Some((name?, value))).collect()
}

/// The keys and values of a MAP, `{k=1, 'l m'=NULL}`.
pub(crate) fn entries(text: &str) -> Option<Vec<(Option<String>, Option<String>)>> {
    pairs(text, '=')
}

fn pairs(text: &str, between: char) -> Option<Vec<(Option<String>, Option<String>)>> {
    let mut cursor = Cursor::within(text, '{', '}')?;
    let mut pairs = Vec::new();
    if cursor.at_end() {
        return Some(pairs);
    }
    loop {
        let key = cursor.value(&[between]).ok()?;
        if cursor.at_end() {
            return None;
        }
        cursor.skip();
        pairs.push((key, cursor.value(&[',']).ok()?));
        if cursor.at_end() {
            return Some(pairs);
        }
        cursor.skip();
    }
}

/// What is no nested value.
struct Malformed;

/// Takes a nested value apart, as `DuckDB`'s cast from VARCHAR does: what is in quotes or brackets is not looked into, and what
/// is nested keeps its own quotes.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn within(text: &'a str, open: char, close: char) -> Option<Self> {
        Some(Self { rest: text.trim().strip_prefix(open)?.strip_suffix(close)?.trim() })
    }

    fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Passes over a separator.
    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
        // What follows a separator is a value, if an empty one.
        if self.rest.is_empty() {
            self.rest = " ";
        }
    }

    /// The value up to a separator or the end; nothing for NULL.
    fn value(&mut self, separators: &[char]) -> Result<Option<String>, Malformed> {
        let mut value = String::new();
        // How much of it is more than blanks that may be cut off.
        let mut kept = 0;
        let mut quoted_any = false;
        let mut open = Vec::new();
        let mut quote = None;
        let mut chars = self.rest.char_indices().peekable();
        let mut end = self.rest.len();
        while let Some((at, c)) = chars.next() {
            let nested = !open.is_empty();
            if let Some(closing) = quote {
                match c {
                    '\\' => {
                        let (_, escaped) = chars.next().ok_or(Malformed)?;
                        value.extend(nested.then_some('\\'));
                        value.push(escaped);
                    }
                    c if c == closing => {
                        quote = None;
                        value.extend(nested.then_some(c));
                    }
                    c => value.push(c),
                }
                kept = value.len();
                continue;
            }
            match c {
                '\\' if matches!(chars.peek(), Some((_, '\'' | '"'))) => {
                    let (_, escaped) = chars.next().ok_or(Malformed)?;
                    value.extend(nested.then_some('\\'));
                    value.push(escaped);
                }
                '\'' | '"' => {
                    quote = Some(c);
                    quoted_any |= !nested;
                    value.extend(nested.then_some(c));
                }
                '[' | '{' | '(' => {
                    open.push(c);
                    value.push(c);
                }
                ']' | '}' | ')' => {
                    let expected = match c {
                        ']' => '[',
                        '}' => '{',
                        _ => '(',
                    };
                    if open.pop() != Some(expected) {
                        return Err(Malformed);
                    }
                    value.push(c);
                }
                c if !nested && separators.contains(&c) => {
                    end = at;
                    break;
                }
                c if c.is_whitespace() && !nested => {
                    if !value.is_empty() || quoted_any {
                        value.push(c);
                    }
                    continue;
                }
                c => value.push(c),
            }
            kept = value.len();
        }
        if quote.is_some() || !open.is_empty() {
            return Err(Malformed);
        }
        value.truncate(kept);
        self.rest = &self.rest[end..];
        let is_null = !quoted_any && value.eq_ignore_ascii_case("null");
        Ok((!is_null).then_some(value))
    }
}

#[cfg(test)]
mod tests;
