//! From the command line to the exit code.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

use crate::args::{Arguments, Command, GlobalOptions};
use crate::commands::{completions, demo, ducklake, init, inspect, keystore, kms, load, namespace, sql, table};
use crate::context::Context;
use crate::failure::{Context as _, Failure, Fault, Result};
use crate::terminal::{Paint, stderr_width};

/// Filters what is logged, as `tracing` directives; without it `-v` and `-q` decide.
const LOG_VARIABLE: &str = "LAKELOCK_LOG";

/// Of each thread, for statements of some thousand terms. It is taken from the system only as far as it is used.
const STACK: usize = 64 << 20;

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const FOUND: u8 = 3;
/// As shells report a program that ended by Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Runs the program.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    start_logging(&arguments.global);
    let paint = Paint::stderr(arguments.global.color);
    // The engine recurses into statements as deep as they are.
    let execution = std::thread::Builder::new().stack_size(STACK).spawn(|| execute(arguments));
    let outcome = match execution.map(std::thread::JoinHandle::join) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => Err(error).context("cannot start"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to do if not even this can be written.
            let _ = std::io::stderr().write_all(failure.render(paint, stderr_width()).as_bytes());
            ExitCode::from(match failure.fault() {
                Fault::Work => FAILED,
                Fault::Usage => USAGE,
                Fault::Finding => FOUND,
                Fault::Interrupt => INTERRUPTED,
            })
        }
    }
}

fn execute(arguments: Arguments) -> Result<()> {
    let context = Context::new(arguments.global)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let runtime = runtime.context("cannot start")?;
    let outcome = runtime.block_on(async {
        match arguments.command {
            Command::Demo(arguments) => demo::run(&context, arguments).await,
            Command::Init(arguments) => init::run(&context, &arguments).await,
            Command::Keystore(arguments) => keystore::run(&context, arguments),
            Command::Kms(arguments) => kms::run(&context, arguments).await,
            Command::Namespace(arguments) => namespace::run(&context, arguments).await,
            Command::Table(arguments) => table::run(&context, arguments).await,
            Command::Load(arguments) => load::run(&context, arguments).await,
            Command::Sql(arguments) => sql::run(&context, arguments).await,
            Command::Inspect(arguments) => inspect::run(&context, arguments).await,
            Command::Ducklake(arguments) => Box::pin(ducklake::run(&context, arguments)).await,
            Command::Completions(arguments) => completions::run(&arguments),
        }
    });
    // Not to wait for a thread that reads from a pipe which nobody writes to.
    runtime.shutdown_background();
    outcome
}

fn start_logging(options: &GlobalOptions) {
    let level = match (options.quiet, options.verbose) {
        (true, _) => "error",
        // The SDK of AWS warns of each place that it looks in; what it does not find at all is an error of ours.
        (false, 0) => "warn,aws_config=error",
        (false, 1) => "warn,aws_config=error,lakelock=info",
        (false, 2) => "info,lakelock=debug",
        (false, _) => "info,lakelock=trace",
    };
    // `lakelock` stands for all crates whose names start with it.
    let crates =
        ["catalog", "cloud", "crypto", "datafusion", "ducklake", "ducklake_datafusion", "iceberg", "kms", "storage"];
    let directives = match level.split_once("lakelock=") {
        Some((_, own)) => crates.iter().fold(level.to_owned(), |all, name| format!("{all},lakelock_{name}={own}")),
        None => level.to_owned(),
    };
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(directives));
    // What others log in detail holds values of the rows that they work on.
    let no_values = filter_fn(|metadata| metadata.target().starts_with("lakelock") || *metadata.level() <= Level::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(Paint::stderr(options.color).is_on())
        .without_time()
        .with_filter(no_values);
    tracing_subscriber::registry().with(filter).with(lines).init();
}

/// What to do next, by what kind of error is at the bottom.
pub(crate) fn hint_for(failure: &Failure) -> Option<String> {
    let no_file = || failure.find::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
    let kms = failure.find::<lakelock_kms::Error>().and_then(|error| match error.kind() {
        lakelock_kms::ErrorKind::NotFound if no_file() => Some(NO_KEYSTORE),
        kind => hint_for_kms(kind),
    });
    let catalog = || failure.find::<lakelock_catalog::Error>().and_then(|error| hint_for_catalog(error.kind()));
    let table = || failure.find::<lakelock_iceberg::Error>().and_then(|error| hint_for_table(error.kind()));
    let lake = || failure.find::<lakelock_ducklake_datafusion::Error>().and_then(|error| hint_for_lake(error.kind()));
    kms.or_else(catalog).or_else(table).or_else(lake).map(ToOwned::to_owned)
}

fn hint_for_kms(kind: lakelock_kms::ErrorKind) -> Option<&'static str> {
    use lakelock_kms::ErrorKind;
    Some(match kind {
        ErrorKind::Credentials => {
            "a local keystore opens with the key file in keystore.key-file, or with the passphrase in \
             $LAKELOCK_KEYSTORE_PASSPHRASE; a cloud KMS takes the credentials of its platform"
        }
        ErrorKind::NotFound => {
            "`lakelock keystore list` shows the master keys of a local keystore; elsewhere, `lakelock kms check --key KEY` tries one"
        }
        ErrorKind::WrongKey => {
            "this keystore or KMS has another key of that id; check keystore.path and encryption.kms-impl of the catalog"
        }
        ErrorKind::Throttled | ErrorKind::Unreachable => {
            "try again; `lakelock kms check --key KEY` tells whether the KMS answers"
        }
        _ => return None,
    })
}

fn hint_for_catalog(kind: lakelock_catalog::ErrorKind) -> Option<&'static str> {
    use lakelock_catalog::ErrorKind;
    Some(match kind {
        ErrorKind::NotFound => "`lakelock table list` shows the tables there are",
        ErrorKind::NotEmpty => "`lakelock table list NAMESPACE` and `lakelock namespace list` show what is in it",
        ErrorKind::InvalidData => DAMAGED,
        ErrorKind::Conflict => "others are writing too: try again",
        ErrorKind::UnknownOutcome => "`lakelock table history TABLE` shows whether it took place",
        _ => return None,
    })
}

fn hint_for_table(kind: lakelock_iceberg::ErrorKind) -> Option<&'static str> {
    use lakelock_iceberg::ErrorKind;
    Some(match kind {
        ErrorKind::InvalidData => DAMAGED,
        ErrorKind::Conflict => "others are writing too: try again",
        _ => return None,
    })
}

fn hint_for_lake(kind: lakelock_ducklake_datafusion::ErrorKind) -> Option<&'static str> {
    use lakelock_ducklake_datafusion::ErrorKind;
    match kind {
        ErrorKind::InvalidData => Some(DAMAGED),
        _ => None,
    }
}

const NO_KEYSTORE: &str = "keystore.path of the catalog names the keystore and keystore.key-file its key file: put the \
    file back or correct the path; `lakelock init` makes both for a new catalog";
const DAMAGED: &str = "the file was damaged, or changed by somebody else: put the original back from a copy";
