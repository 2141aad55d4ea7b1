//! The interactive SQL shell.

mod completion;
mod statement;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, EditMode, Editor};

use completion::ShellHelper;
pub(crate) use completion::Words;
pub(crate) use statement::statements;

use crate::failure::{Context as _, Result};
use crate::terminal::Paint;

/// Old entries make room for new ones beyond this.
const HISTORY_ENTRIES: usize = 10_000;

/// What the user asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// A statement to run.
    Statement(String),
    /// `\d`: all tables, or one.
    Describe(Option<String>),
    /// `\?`
    Help,
    /// `\q`
    Quit,
    /// A backslash with something else.
    Unknown(String),
}

impl Request {
    /// `None` for nothing.
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        if let Some(command) = line.strip_prefix('\\') {
            let (name, argument) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
            let argument = argument.trim().trim_end_matches(';');
            return Some(match name.trim_end_matches(';') {
                "q" => Self::Quit,
                "?" | "h" => Self::Help,
                "d" => Self::Describe((!argument.is_empty()).then(|| argument.to_owned())),
                other => Self::Unknown(format!("\\{other}")),
            });
        }
        match line.trim_end_matches(';').trim() {
            "" => None,
            "quit" | "exit" => Some(Self::Quit),
            "help" => Some(Self::Help),
            statement => Some(Self::Statement(statement.to_owned())),
        }
    }
}

/// What `\?` says.
pub(crate) const HELP: &str = "  \
  select ... ;     run a statement: it may take several lines, up to a semicolon
  \\d               list all tables
  \\d NAMESPACE.T   show a table's columns
  \\?               this help
  \\q               leave (or Ctrl-D)

  Tab completes keywords, tables and columns. Ctrl-R searches the history.
  Ctrl-C stops a statement.";

/// Reads requests from a terminal, with history and completion.
pub(crate) struct Shell {
    editor: Editor<ShellHelper, DefaultHistory>,
    history: Option<PathBuf>,
    prompt: String,
}

impl Shell {
    /// A shell that completes `words`.
    pub(crate) fn new(words: Words, paint: Paint) -> Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY_ENTRIES)?
            .completion_type(CompletionType::List)
            .edit_mode(EditMode::Emacs)
            .auto_add_history(true)
            .build();
        let mut editor = Editor::with_config(config).context("cannot start the shell")?;
        editor.set_helper(Some(ShellHelper::new(words)));
        let history = history_file();
        if let Some(file) = &history {
            // A first start has none, and one that cannot be read is no reason not to start.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history, prompt: paint.command("lakelock> ") })
    }

    /// The next request; `None` at the end of input.
    pub(crate) fn next(&mut self) -> Result<Option<Request>> {
        loop {
            match self.editor.readline(&self.prompt) {
                Ok(text) => {
                    self.keep_history();
                    if let Some(request) = Request::parse(&text) {
                        return Ok(Some(request));
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(error).context("cannot read from the terminal"),
            }
        }
    }

    /// Adds what was typed to the history, at once: other shells may be adding too, and this one may be killed.
    fn keep_history(&mut self) {
        if let Some(file) = &self.history {
            let made = file.parent().map_or(Ok(()), make_private_folder);
            if made.is_err() || self.editor.append_history(file).is_err() {
                tracing::warn!(file = %file.display(), "the history cannot be saved");
                self.history = None;
            }
        }
    }
}

/// `~/.local/state/lakelock/history`: queries may hold values, so it is for the user alone.
fn history_file() -> Option<PathBuf> {
    let strategy = etcetera::base_strategy::Xdg::new().ok()?;
    Some(strategy.state_dir()?.join("lakelock").join("history"))
}

fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_requests() {
        let cases = [
            ("", None),
            (" ; ", None),
            ("\\q", Some(Request::Quit)),
            ("exit", Some(Request::Quit)),
            ("\\d", Some(Request::Describe(None))),
            ("\\d a.b;", Some(Request::Describe(Some("a.b".into())))),
            ("\\x", Some(Request::Unknown("\\x".into()))),
            ("select\n1;", Some(Request::Statement("select\n1".into()))),
        ];
        for (line, expected) in cases {
            assert_eq!(Request::parse(line), expected, "{line:?}");
        }
    }
}
