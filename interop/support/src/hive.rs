//! A Hive metastore, and Spark over it, as processes.

use std::path::Path;

use serde_json::{Value, json};

use crate::process::{Process, text};
use crate::statements::Statements;

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

/// A session of Spark SQL, with the metastore as the catalogs `locked` and `unlocked`; the first statement waits for it.
pub type Spark = Statements;

impl Spark {
    /// Starts one.
    #[must_use]
    pub fn start(metastore: &Metastore, folder: &Path) -> Self {
        Self::new("spark/run.sh", &[&metastore.uri, text(folder)])
    }

    /// Starts one whose catalogs have these properties on top: Iceberg's classes for AWS are there. Those named `spark.` are
    /// settings of the session.
    #[must_use]
    pub fn start_with(metastore: &Metastore, folder: &Path, properties: &[(&str, &str)]) -> Self {
        let properties: Value = properties.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        Self::new("spark/run.sh", &[&metastore.uri, text(folder), &properties.to_string()])
    }
}
