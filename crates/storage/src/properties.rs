//! Catalog properties, as the stores read them.

use std::{collections::HashMap, ops::RangeInclusive, time::Duration};

use crate::error::{Error, ErrorKind, Result};

/// The properties of a catalog. Errors name the property and never its value, which may be a secret.
#[derive(Clone, Copy)]
pub(crate) struct Properties<'a>(pub(crate) &'a HashMap<String, String>);

impl<'a> Properties<'a> {
    /// A value; an empty one is none.
    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn flag(self, name: &str, default: bool) -> Result<bool> {
        match self.text(name) {
            None => Ok(default),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(_) => Err(invalid(name, "expected \"true\" or \"false\"")),
        }
    }

    /// The number of the first of these properties that there is.
    pub(crate) fn number(self, names: &[&str], default: u64, range: RangeInclusive<u64>) -> Result<u64> {
        let Some((name, value)) = names.iter().find_map(|name| Some((*name, self.text(name)?))) else {
            return Ok(default);
        };
        value
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| invalid(name, format!("expected a whole number from {} to {}", range.start(), range.end())))
    }

    pub(crate) fn milliseconds(self, names: &[&str], default: Duration) -> Result<Duration> {
        let default = u64::try_from(default.as_millis()).unwrap_or(u64::MAX);
        self.number(names, default, 1..=24 * 60 * 60 * 1000).map(Duration::from_millis)
    }

    /// The properties that begin like this: what follows in their names, and their values, in the order of the names.
    pub(crate) fn below(self, prefix: &str) -> Vec<(&'a str, &'a str)> {
        let below = |(name, value): (&'a String, &'a String)| Some((name.strip_prefix(prefix)?, value.as_str()));
        let mut found: Vec<_> = self.0.iter().filter_map(below).collect();
        found.sort_unstable();
        found
    }

    /// Refuses properties without which files would be less protected, or elsewhere, or reached as somebody else.
    pub(crate) fn refuse(self, names: &[&str], why: &str) -> Result<()> {
        match names.iter().find(|name| self.text(name).is_some_and(|value| !value.eq_ignore_ascii_case("false"))) {
            Some(name) => Err(unsupported(name, why)),
            None => Ok(()),
        }
    }

    /// As [`refuse`](Self::refuse), for all properties that begin like this.
    pub(crate) fn refuse_below(self, prefix: &str, why: &str) -> Result<()> {
        match self.below(prefix).first() {
            Some((rest, _)) => Err(unsupported(&format!("{prefix}{rest}"), why)),
            None => Ok(()),
        }
    }
}

pub(crate) fn invalid(name: &str, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidInput, name, message)
}

pub(crate) fn unsupported(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, name, format!("this property is not supported: {why}"))
}
