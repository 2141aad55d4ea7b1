//! Scripts that run as long as a test wants.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A script that runs until its input ends.
pub(crate) struct Process {
    child: Child,
    pub(crate) input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Process {
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Self {
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
    pub(crate) fn line(&mut self, is_wanted: impl Fn(&str) -> bool) -> String {
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

pub(crate) fn text(folder: &Path) -> &str {
    folder.to_str().expect("a folder of a plain name")
}
