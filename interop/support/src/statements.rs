//! A session of SQL as a process that takes a statement a line.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::Process;

/// The session, which ends with this.
pub struct Statements(Process);

/// What a query took.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From its start to its last row.
    pub time: Duration,
    /// Of all threads of the process.
    pub cpu: Duration,
}

impl Statements {
    pub(crate) fn new(script: &str, arguments: &[&str]) -> Self {
        Self(Process::start(script, arguments))
    }

    /// `DuckDB`, in memory; see `interop/duckdb/run.sh`. The first statement waits for it.
    #[must_use]
    pub fn duckdb() -> Self {
        Self::new("duckdb/run.sh", &[])
    }

    /// Runs a statement, and returns its rows.
    ///
    /// # Panics
    /// If it fails, with its error.
    pub fn sql(&mut self, statement: &str) -> Vec<Value> {
        self.attempt(statement).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    /// Runs a statement that must fail, and returns its error.
    ///
    /// # Panics
    /// If it does not.
    pub fn error(&mut self, statement: &str) -> String {
        self.attempt(statement).map_or_else(|error| error, |rows| panic!("{statement}: {rows:?}"))
    }

    /// Runs a statement, and returns its rows.
    ///
    /// # Errors
    /// When it fails, with its error.
    ///
    /// # Panics
    /// If there is no session to ask.
    pub fn attempt(&mut self, statement: &str) -> Result<Vec<Value>, String> {
        let answer = self.ask(statement);
        if answer["ok"] == true {
            Ok(answer["rows"].as_array().cloned().unwrap_or_default())
        } else {
            Err(answer["error"].as_str().unwrap_or_default().to_owned())
        }
    }

    /// Runs a query, whose rows the process throws away, and returns what it took there.
    ///
    /// # Panics
    /// If it fails, with its error.
    pub fn time(&mut self, query: &str) -> Timing {
        let rows = self.sql(&format!("time {query}"));
        let seconds = |name: &str| Duration::from_secs_f64(rows[0][name].as_f64().expect("a number of seconds"));
        Timing { time: seconds("seconds"), cpu: seconds("cpu_seconds") }
    }

    fn ask(&mut self, statement: &str) -> Value {
        let input = self.0.input.as_mut().expect("the session runs");
        writeln!(input, "{}", json!(statement)).expect("the session takes statements");
        input.flush().expect("the session takes statements");
        let line = self.0.line(|line| line.starts_with("{\"ok\":"));
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{statement}: {e}: {line}"))
    }
}
