//! A Hive metastore, and Spark over it, as processes.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Process, text};

/// A real metastore, which ends with this.
pub struct Metastore {
    uri: String,
    _process: Process,
}

impl Metastore {
    /// Starts one that keeps everything in a folder, and waits until it answers.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(folder: &Path) -> Self {
        let mut process = Process::start("hive/run.sh", &[text(folder)]);
        Self { uri: process.line(|line| line.starts_with("thrift://")), _process: process }
    }

    /// Where it is.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }
}

/// A session of Spark SQL, with the metastore as the catalogs `locked` and `unlocked`.
pub struct Spark(Process);

impl Spark {
    /// Starts one; the first statement waits for it.
    #[must_use]
    pub fn start(metastore: &Metastore, folder: &Path) -> Self {
        Self(Process::start("spark/run.sh", &[&metastore.uri, text(folder)]))
    }

    /// Starts one whose catalogs have these properties on top: Iceberg's classes for AWS are there.
    #[must_use]
    pub fn start_with(metastore: &Metastore, folder: &Path, properties: &[(&str, &str)]) -> Self {
        let properties: Value = properties.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        Self(Process::start("spark/run.sh", &[&metastore.uri, text(folder), &properties.to_string()]))
    }

    /// Runs a statement, and returns its rows.
    ///
    /// # Panics
    /// If it fails, with its error.
    pub fn sql(&mut self, statement: &str) -> Vec<Value> {
        let answer = self.ask(statement);
        assert_eq!(answer["ok"], true, "{statement}: {}", answer["error"]);
        answer["rows"].as_array().cloned().unwrap_or_default()
    }

    /// Runs a statement that must fail, and returns its error.
    ///
    /// # Panics
    /// If it does not.
    pub fn error(&mut self, statement: &str) -> String {
        let answer = self.ask(statement);
        assert_eq!(answer["ok"], false, "{statement}: {answer}");
        answer["error"].as_str().unwrap_or_default().to_owned()
    }

    fn ask(&mut self, statement: &str) -> Value {
        let input = self.0.input.as_mut().expect("Spark runs");
        writeln!(input, "{}", json!(statement)).expect("Spark takes statements");
        input.flush().expect("Spark takes statements");
        let line = self.0.line(|line| line.starts_with("{\"ok\":"));
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{statement}: {e}: {line}"))
    }
}
