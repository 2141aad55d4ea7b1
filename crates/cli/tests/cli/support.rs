//! A folder with a lake in it, and the program to run there.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A folder of its own for one test.
pub(crate) struct Folder {
    dir: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a folder") }
    }

    /// A folder after `init` and with the master key `k`.
    pub(crate) fn with_lake() -> Self {
        let folder = Self::new();
        folder.ok(&["init"]);
        folder.ok(&["keystore", "create-key", "k"]);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("written");
    }

    /// The program in this folder, knowing nothing of the machine's configuration.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lakelock"));
        command.args(arguments).current_dir(self.dir.path()).env_clear();
        command.env("HOME", self.dir.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        outcome(&mut self.command(arguments))
    }

    /// Runs what must succeed; its standard output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        outcome.stdout
    }

    /// Runs what must fail with this exit code and leave nothing on standard output; its standard error.
    pub(crate) fn fails(&self, code: i32, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, code, "{arguments:?}: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        assert!(outcome.stderr.lines().any(|line| line.starts_with("error: ")), "{arguments:?}: {}", outcome.stderr);
        outcome.stderr
    }

    /// JSON objects, one a line.
    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<serde_json::Value> {
        let arguments = [arguments, &["--output", "json"]].concat();
        self.ok(&arguments).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    /// All files below the warehouse.
    pub(crate) fn warehouse(&self) -> Vec<PathBuf> {
        files_below(&self.path("warehouse"))
    }

    /// Files of the warehouse whose name has this in it.
    pub(crate) fn files(&self, part: &str) -> Vec<PathBuf> {
        let name = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().contains(part));
        self.warehouse().into_iter().filter(name).collect()
    }
}

pub(crate) fn outcome(command: &mut Command) -> Outcome {
    let output = command.output().expect("the program runs");
    Outcome {
        code: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}
