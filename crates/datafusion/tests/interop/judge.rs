//! The Java judge, kept running for the whole test binary.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

struct Judge {
    _process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Runs a command of `interop/java/run.sh`: what it printed, or what it complained of.
pub(crate) fn run(arguments: &[&str]) -> Result<String, String> {
    static JUDGE: OnceLock<Mutex<Judge>> = OnceLock::new();
    let judge = JUDGE.get_or_init(|| Mutex::new(start()));
    let mut judge = judge.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(judge.commands, "{}", json!(arguments)).expect("the judge takes commands");
    judge.commands.flush().expect("the judge takes commands");
    let mut line = String::new();
    judge.answers.read_line(&mut line).expect("the judge answers");
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("the judge answered {line:?}: {e}"));
    let text = |of: &str| answer[of].as_str().expect("a text").to_owned();
    if answer["ok"] == Value::Bool(true) { Ok(text("out")) } else { Err(text("err") + &text("out")) }
}

/// The rows of a table as Java reads them, as [`crate::rows`] gives ours.
pub(crate) fn read(metadata_location: &str) -> Vec<Value> {
    let out = run(&["read", metadata_location]).unwrap_or_else(|e| panic!("Java cannot read {metadata_location}: {e}"));
    let rows = out.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    crate::rows::sorted(rows)
}

/// A table that Java writes into a folder: what the judge says of it.
pub(crate) fn write(scenario: &str, folder: &Path) -> Value {
    let folder = folder.to_str().expect("a folder of a plain name");
    let out = run(&["write", scenario, folder]).unwrap_or_else(|e| panic!("Java cannot write {scenario}: {e}"));
    serde_json::from_str(&out).expect("a description")
}

fn start() -> Judge {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/java/run.sh");
    let mut process = Command::new(script)
        .arg("batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("interop/java/run.sh starts");
    let commands = process.stdin.take().expect("a pipe");
    let answers = BufReader::new(process.stdout.take().expect("a pipe"));
    Judge { _process: process, commands, answers }
}
