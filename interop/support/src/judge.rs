//! One JVM for all tests of a binary: `interop/java/run.sh batch`, a command a line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use crate::rows;

struct Judge {
    _process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Runs a command of the judge and returns what it prints.
///
/// # Panics
/// If it fails, with its errors.
#[expect(clippy::must_use_candidate, reason = "some commands are run for what they do")]
pub fn run(command: &[&str]) -> String {
    attempt(command).unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Runs a command of the judge and returns what it prints, or what it complains of if it fails.
///
/// # Errors
/// When it fails.
///
/// # Panics
/// If there is no judge to ask.
pub fn attempt(command: &[&str]) -> Result<String, String> {
    static JUDGE: OnceLock<Mutex<Judge>> = OnceLock::new();
    let judge = JUDGE.get_or_init(|| Mutex::new(start()));
    let mut judge = judge.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(judge.commands, "{}", json!(command)).expect("the judge takes commands");
    judge.commands.flush().expect("the judge takes commands");
    let mut line = String::new();
    judge.answers.read_line(&mut line).expect("the judge answers");
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{command:?}: {e}: {line}"));
    let text = |of: &str| answer[of].as_str().unwrap_or_default();
    if answer["ok"] == true { Ok(text("out").to_owned()) } else { Err(format!("{}\n{}", text("out"), text("err"))) }
}

/// As [`run`], for commands that print JSON.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn json(command: &[&str]) -> Value {
    let out = run(command);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{command:?}: {e}: {out}"))
}

/// The rows of a table as Java reads them, as [`rows::of_batches`] gives ours.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn read(metadata_location: &str) -> Vec<Value> {
    let out = run(&["read", metadata_location]);
    rows::sorted(out.lines().map(|line| serde_json::from_str(line).expect("a row")).collect())
}

/// A table that Java writes into a folder: what the judge says of it.
///
/// # Panics
/// As [`run`].
#[must_use]
pub fn write(scenario: &str, folder: &Path) -> Value {
    json(&["write", scenario, folder.to_str().expect("a folder of a plain name")])
}

fn start() -> Judge {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../java/run.sh");
    let mut process = Command::new(&script)
        .arg("batch")
        // The moto of interop/servers takes any credentials, but none is none.
        .envs([("AWS_ACCESS_KEY_ID", "testing"), ("AWS_SECRET_ACCESS_KEY", "testing")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", script.display()));
    let commands = process.stdin.take().expect("a pipe");
    let answers = BufReader::new(process.stdout.take().expect("a pipe"));
    Judge { _process: process, commands, answers }
}
