//! Options on the command line.

use std::collections::HashMap;
use std::str::FromStr;

use crate::Result;

/// What was given as `--name value`.
#[derive(Debug)]
pub struct Options {
    given: HashMap<String, String>,
}

impl Options {
    /// Reads the command line.
    ///
    /// # Errors
    /// For an option that is not among the `known` ones, or has no value.
    pub fn from_command_line(known: &[&str]) -> Result<Self> {
        let mut given = HashMap::new();
        // Cargo itself adds `--bench`.
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = arguments.next() {
            let name = argument.strip_prefix("--").filter(|name| known.contains(name));
            let (Some(name), Some(value)) = (name, arguments.next()) else {
                let options: Vec<_> = known.iter().map(|name| format!("--{name} VALUE")).collect();
                return Err(format!("{argument}: expected one of {}", options.join(", ")).into());
            };
            given.insert(name.to_owned(), value);
        }
        Ok(Self { given })
    }

    /// The value of an option, or else `default`.
    ///
    /// # Errors
    /// For a value that is no `T`.
    pub fn get<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.given.get(name) {
            None => Ok(default),
            Some(value) => value.parse().map_err(|_| format!("--{name} {value} cannot be understood").into()),
        }
    }

    /// The values of an option that takes several, with commas between them.
    ///
    /// # Errors
    /// When one of them is no `T`.
    pub fn list<T: FromStr + Clone>(&self, name: &str, default: &[T]) -> Result<Vec<T>> {
        let Some(values) = self.given.get(name) else { return Ok(default.to_vec()) };
        let parsed: std::result::Result<_, _> = values.split(',').map(str::parse).collect();
        parsed.map_err(|_| format!("--{name} {values} cannot be understood").into())
    }
}
