//! What a command reports when it fails: a message, its causes, and what to do next.

use std::error::Error as StdError;
use std::fmt::{Display, Write as _};
use std::io;
use std::sync::Arc;

use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use parquet::errors::ParquetError;

use crate::terminal::{Paint, printable, wrapped};

/// Shorthand for this program's results.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

type BoxError = Box<dyn StdError + Send + Sync>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What this program has to say of it, innermost first.
    messages: Vec<String>,
    cause: Option<BoxError>,
    hint: Option<String>,
    fault: Fault,
}

/// Whose doing a failure is, which is what the exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Of what was worked on.
    Work,
    /// Of what was looked at, which is not as it should be.
    Finding,
    /// Of the command line.
    Usage,
    /// Of the user, who has changed his mind.
    Interrupt,
}

impl Failure {
    /// A failure without a cause below it.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { messages: vec![message.into()], cause: None, hint: None, fault: Fault::Work }
    }

    /// Something that a check has found.
    pub(crate) fn finding(message: impl Into<String>) -> Self {
        Self { fault: Fault::Finding, ..Self::new(message) }
    }

    /// A command line or a configuration that cannot be carried out as it stands.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { fault: Fault::Usage, ..Self::new(message) }
    }

    /// The end of a command that the user did not want to go on.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self { fault: Fault::Interrupt, ..Self::new(message) }
    }

    /// The same, as a mistake in the command line.
    #[must_use]
    pub(crate) fn into_usage(mut self) -> Self {
        self.fault = Fault::Usage;
        self
    }

    /// Says what to do next, unless something closer to the cause already has.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert(hint.into());
        self
    }

    /// Whose doing it is.
    pub(crate) fn fault(&self) -> Fault {
        self.fault
    }

    /// Whether the reader of our output went away, which is no failure: `lakelock sql ... | head`.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.find::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The first error of type `E` among the causes.
    pub(crate) fn find<E: StdError + 'static>(&self) -> Option<&E> {
        self.causes().find_map(|error| error.downcast_ref())
    }

    /// The causes, the nearest first, without those that only carry another one.
    fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        let first = self.cause.as_deref().map(|error| carried(error));
        std::iter::successors(first, |error: &&'_ (dyn StdError + 'static)| StdError::source(*error).map(carried))
    }

    /// The screen: `error: message`, the causes as indented lines, the hint; lines are broken at `width` if there is one.
    pub(crate) fn render(&self, paint: Paint, width: Option<usize>) -> String {
        self.render_below(None, paint, width)
    }

    /// The same, with `...` for a folder that the reader knows.
    pub(crate) fn render_below(&self, folder: Option<&str>, paint: Paint, width: Option<usize>) -> String {
        let mut lines: Vec<String> = self.messages.iter().rev().cloned().collect();
        for cause in self.causes() {
            let text = own_text(cause).replace('\n', " ");
            // Not every layer leaves its cause's text to the cause.
            if !lines.last().is_some_and(|above| above.ends_with(&text)) {
                lines.push(text);
            }
        }
        let mut screen = String::new();
        for (depth, line) in lines.iter().enumerate() {
            let line = folder.map_or_else(|| line.clone(), |folder| line.replace(folder, "..."));
            let line = printable(&line);
            let (before, taken) = match depth {
                0 => (paint.error("error:"), "error: ".len()),
                _ => (format!("{}caused by:", "  ".repeat(depth)), 2 * depth + "caused by: ".len()),
            };
            let _ = writeln!(screen, "{before} {}", wrapped(&line, width, taken, 2 * (depth + 1)));
        }
        if let Some(hint) = self.hint.clone().or_else(|| crate::app::hint_for(self)) {
            let _ = writeln!(screen, "{} {}", paint.hint("hint:"), wrapped(&hint, width, "hint: ".len(), 2));
        }
        screen
    }
}

/// What an error says, without the engine's name for its kind and advice that is of no use here.
fn own_text(error: &(dyn StdError + 'static)) -> String {
    if let Some(SchemaError::FieldNotFound { field, valid_fields }) = error.downcast_ref() {
        return no_such_column(field, valid_fields);
    }
    match error.downcast_ref() {
        // Functions are told with every signature's own error before, and as if the engine were at fault.
        Some(DataFusionError::Plan(text)) if let Some(at) = text.find(NO_FUNCTION) => {
            text[at..].split_whitespace().collect::<Vec<_>>().join(" ")
        }
        Some(DataFusionError::Plan(text) | DataFusionError::Execution(text)) => text.clone(),
        _ => error.to_string(),
    }
}

/// How the engine begins to tell which functions of a name there are.
const NO_FUNCTION: &str = "No function matches the given name";

fn no_such_column(wanted: &Column, known: &[Column]) -> String {
    /// More of them do not help.
    const SHOWN: usize = 20;
    let of_one_table = known.windows(2).all(|two| two[0].relation == two[1].relation);
    let name = |column: &Column| match &column.relation {
        Some(_) if !of_one_table => column.quoted_flat_name(),
        _ => crate::names::in_sql(&column.name),
    };
    let mut names: Vec<String> = known.iter().take(SHOWN).map(name).collect();
    if known.len() > SHOWN {
        names.push(format!("{} more", known.len() - SHOWN));
    }
    let wanted = wanted.quoted_flat_name();
    let others = if names.is_empty() { String::new() } else { format!(": there are {}", names.join(", ")) };
    format!("there is no column {wanted}{others}")
}

/// The error within errors that say nothing but what kind of error they carry.
fn carried<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    let mut error = error;
    loop {
        let inner: &'a (dyn StdError + 'static) = if let Some(engine) = error.downcast_ref::<DataFusionError>() {
            match engine {
                DataFusionError::External(inner) => inner.as_ref(),
                DataFusionError::Shared(inner) => inner.as_ref(),
                DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => inner.as_ref(),
                DataFusionError::ArrowError(inner, _) => inner.as_ref(),
                DataFusionError::ParquetError(inner) => inner.as_ref(),
                DataFusionError::IoError(inner) => inner,
                DataFusionError::SQL(inner, _) => inner.as_ref(),
                DataFusionError::SchemaError(inner, _) => inner.as_ref(),
                _ => return error,
            }
        } else if let Some(shared) = error.downcast_ref::<Arc<lakelock_kms::Error>>() {
            // Of a call to the KMS that several waited for.
            shared.as_ref()
        } else if let Some(ArrowError::ExternalError(inner)) = error.downcast_ref() {
            inner.as_ref()
        } else if let Some(ParquetError::External(inner)) = error.downcast_ref() {
            inner.as_ref()
        } else {
            return error;
        };
        error = inner;
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { messages: Vec::new(), cause: Some(Box::new(error)), hint: None, fault: Fault::Work }
    }
}

/// Adds what was being done to a failure.
pub(crate) trait Context<T> {
    /// Adds a line above the cause.
    fn context(self, message: impl Display) -> Result<T>;

    /// Like [`context`](Self::context), worked out only when there is a failure.
    fn with_context<D: Display>(self, message: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for std::result::Result<T, E> {
    fn context(self, message: impl Display) -> Result<T> {
        self.with_context(|| message)
    }

    fn with_context<D: Display>(self, message: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| {
            let mut failure = error.into();
            failure.messages.push(message().to_string());
            failure
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_message_causes_and_hint() {
        let io = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let failure = Err::<(), _>(io).context("cannot read x.csv").context("load failed").unwrap_err().hint("look");
        assert_eq!(
            failure.render(Paint::plain(), None),
            "error: load failed\n  caused by: cannot read x.csv\n    caused by: no such file\nhint: look\n"
        );
    }

    #[test]
    fn carriers_are_seen_through() {
        let inner = io::Error::new(io::ErrorKind::BrokenPipe, "gone");
        let carried = ArrowError::ExternalError(Box::new(DataFusionError::External(Box::new(inner))));
        let failure = Failure::from(DataFusionError::ArrowError(Box::new(carried), None));
        assert_eq!(failure.render(Paint::plain(), None), "error: gone\n");
        assert!(failure.is_broken_pipe());
    }

    #[test]
    fn a_column_that_is_not_there_is_told_with_those_that_are() {
        let shown = |wanted: &str, known: Vec<Column>| {
            let field = Box::new(Column::from_qualified_name_ignore_case(wanted));
            Failure::from(SchemaError::FieldNotFound { field, valid_fields: known }).render(Paint::plain(), None)
        };
        let column = |table: &str, name: &str| Column::new(Some(table), name);
        assert_eq!(
            shown("x", vec![column("t", "a"), column("t", "B")]),
            "error: there is no column x: there are a, \"B\"\n"
        );
        assert_eq!(
            shown("t.x", vec![column("t", "a"), column("u", "B")]),
            "error: there is no column t.x: there are t.a, u.\"B\"\n"
        );
        assert_eq!(shown("x", Vec::new()), "error: there is no column x\n");
        assert!(shown("x", vec![column("t", "a"); 23]).ends_with("a, 3 more\n"));
    }

    #[test]
    fn lines_break_at_the_width() {
        let failure = Failure::new("one two three four").hint("five six seven eight");
        assert_eq!(
            failure.render(Paint::plain(), Some(16)),
            "error: one two\n  three four\nhint: five six\n  seven eight\n"
        );
    }

    #[test]
    fn keeps_the_hint_nearest_to_the_cause() {
        assert!(Failure::new("x").hint("a").hint("b").render(Paint::plain(), None).ends_with("hint: a\n"));
    }

    #[test]
    fn control_characters_cannot_reach_the_terminal() {
        assert_eq!(Failure::new("a\x1b[2Jb").render(Paint::plain(), None), "error: a\\x1b[2Jb\n");
    }
}
