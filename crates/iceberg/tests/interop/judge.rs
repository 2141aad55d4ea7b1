//! One JVM for all tests: `interop/java/run.sh batch`, a command a line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

struct Judge {
    _child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// Runs a command of the judge and returns what it prints; panics with its errors if it fails.
pub(crate) fn run(command: &[&str]) -> String {
    static JUDGE: OnceLock<Mutex<Judge>> = OnceLock::new();
    let judge = JUDGE.get_or_init(|| Mutex::new(start()));
    let mut judge = judge.lock().unwrap_or_else(PoisonError::into_inner);
    writeln!(judge.commands, "{}", json!(command)).unwrap();
    judge.commands.flush().unwrap();
    let mut line = String::new();
    judge.answers.read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{command:?}: {e}: {line}"));
    let (out, err) = (answer["out"].as_str().unwrap(), answer["err"].as_str().unwrap_or_default());
    assert_eq!(answer["ok"], true, "{command:?}: {out}\n{err}");
    out.to_owned()
}

/// As [`run`], for commands that print JSON.
pub(crate) fn json(command: &[&str]) -> Value {
    let out = run(command);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{command:?}: {e}: {out}"))
}

fn start() -> Judge {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/java/run.sh");
    let mut child = Command::new(&script)
        .arg("batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", script.display()));
    let commands = child.stdin.take().unwrap();
    let answers = BufReader::new(child.stdout.take().unwrap());
    Judge { _child: child, commands, answers }
}
