//! A Hive metastore, and Spark over it, as processes.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

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

/// A script that runs until its input ends.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(script: &str, arguments: &[&str]) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(script);
        let mut child = Command::new(&script)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", script.display()));
        let output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { input: child.stdin.take(), child, output }
    }

    /// The next line of a kind.
    fn line(&mut self, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut lines = self.output.by_ref().map_while(Result::ok);
        lines.find(|line| is_wanted(line)).expect("the process goes on: its errors are above")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.input.take());
        if let Err(error) = self.child.wait() {
            eprintln!("a process could not be waited for: {error}");
        }
    }
}

fn text(folder: &Path) -> &str {
    folder.to_str().expect("a folder of a plain name")
}
