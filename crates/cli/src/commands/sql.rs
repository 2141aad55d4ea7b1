//! `lakelock sql`: a statement, or a shell.

mod access;
mod hints;
mod interactive;
mod lake;
mod numbers;

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Instant;

use arrow::array::AsArray as _;
use arrow::datatypes::{DataType, UInt64Type};
use clap::Args;
use datafusion::dataframe::DataFrame;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SessionContext;
use futures::TryStreamExt as _;
use lakelock_datafusion::Interrupt;
use lakelock_ducklake_datafusion::DuckLake;

use access::Access;

use crate::context::{Context, OpenCatalog};
use crate::failure::{Context as _, Failure, Fault, Result};
use crate::interrupt::interruption;
use crate::output::{OutputFormat, RowWriter};
use crate::shell::statements;
use crate::terminal::{grouped, printable, stdout_width};

/// Query tables with SQL and add rows to them, in one statement or in a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Tables are NAMESPACE.TABLE; a namespace of several levels is quoted: \"a.b\".t.
Without a statement, and on a terminal, this is a shell: statements end with a
semicolon, Tab completes, \\? helps. Every table also has the columns _row_id,
_last_updated_sequence_number, _file and _pos, for those who name them.
VERSION AS OF (a snapshot id, branch or tag) and TIMESTAMP AS OF after a table
read it as it was. TABLE.snapshots, .history, .refs, .files, .manifests,
.entries, .partitions and more show its metadata, by Spark's names.
Names are in lower case unless quoted: Shop.Orders is \"Shop\".\"Orders\". The
language is DataFusion's; what changes tables is insert into, in one commit.

Examples:
  lakelock sql 'select day, sum(total) from shop.orders group by day order by day'
  lakelock sql 'select * from shop.orders' --output csv > orders.csv
  lakelock sql \"insert into shop.orders values (7, date '2024-02-29', 1.50)\"
  lakelock sql 'select * from shop.orders version as of 3051729675574597004'
  lakelock sql 'select committed_at, snapshot_id, operation from shop.orders.snapshots'
  lakelock sql -f report.sql --output json | jq .total
  echo 'select 1' | lakelock sql
  lakelock sql                                   the shell

With --ducklake, and without a lakelock.toml, these are the tables of a DuckLake,
encrypted or not, to be read: SCHEMA.TABLE, or TABLE of main. The location is what
stands in DuckDB's ATTACH; VERSION AS OF takes the number of a snapshot.
  lakelock sql --ducklake s3://bucket/lake/catalog 'select count(*) from orders'
  lakelock sql --ducklake ducklake:sqlite:meta.sqlite 'show tables'
  lakelock sql --ducklake 'postgres:dbname=lake host=db' 'select * from main.orders'
  lakelock sql --ducklake meta.ducklake 'select * from orders version as of 12'")]
pub(crate) struct Arguments {
    /// The statement, or several with semicolons between them
    statement: Option<String>,
    /// Read the statements from a file; - for standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "statement")]
    file: Option<PathBuf>,
    #[command(flatten)]
    lake: lake::LakeArguments,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let text = match (arguments.statement, arguments.file) {
        (Some(statement), _) => Some(statement),
        (None, Some(file)) if file == Path::new("-") => Some(read_stdin()?),
        (None, Some(file)) => {
            Some(std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?)
        }
        (None, None) if io::stdin().is_terminal() => None,
        (None, None) => Some(read_stdin()?),
    };
    let source = Box::pin(Source::open(context, arguments.lake)).await?;
    let session = source.session().await?;
    let Some(text) = text else { return interactive::run(context, &source, &session).await };
    let statements = statements(&text);
    if statements.is_empty() {
        return Err(Failure::usage("there is no statement to run"));
    }
    let count = statements.len();
    for (number, statement) in (1..).zip(statements) {
        let outcome = query(context, &session, statement).await;
        if count == 1 {
            return outcome;
        }
        outcome.with_context(|| format!("statement {number} of {count} failed"))?;
    }
    Ok(())
}

fn read_stdin() -> Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}

/// Where the tables come from.
enum Source {
    Catalog(OpenCatalog),
    Lake(DuckLake),
}

impl Source {
    async fn open(context: &Context, lake: lake::LakeArguments) -> Result<Self> {
        Ok(match lake.open(context).await? {
            Some(lake) => Self::Lake(lake),
            None => Self::Catalog(context.catalog_with_keys().await?),
        })
    }

    /// What the catalog is called in SQL.
    fn name(&self) -> &str {
        match self {
            Self::Catalog(catalog) => catalog.name(),
            Self::Lake(_) => lake::NAME,
        }
    }

    async fn session(&self) -> Result<SessionContext> {
        match self {
            Self::Catalog(catalog) => session(catalog).await,
            Self::Lake(lake) => Ok(lakelock_ducklake_datafusion::session_context(lake::NAME, lake.clone()).await?),
        }
    }
}

/// A session whose tables are those of the catalog.
pub(crate) async fn session(catalog: &OpenCatalog) -> Result<SessionContext> {
    Ok(lakelock_datafusion::session_context([catalog.shared()]).await?)
}

/// Runs a statement: rows to standard output, their number and the time to standard error.
pub(crate) async fn query(context: &Context, session: &SessionContext, statement: &str) -> Result<()> {
    match run_statement(context, session, statement).await {
        Err(failure) if failure.fault() == Fault::Usage => Err(hints::add(failure, session, statement)),
        outcome => outcome,
    }
}

async fn run_statement(context: &Context, session: &SessionContext, statement: &str) -> Result<()> {
    let started = Instant::now();
    let access = Access::of(session, statement)?;
    let frame = lakelock_ducklake_datafusion::sql(session, statement).await.map_err(sql_failure)?;
    access.check(frame.logical_plan())?;
    let (rows, done) = match access {
        Access::Explain if context.format() == OutputFormat::Table => return show_texts(context, frame).await,
        Access::Read | Access::Explain => (show(context, frame).await?, ""),
        Access::Insert => (insert(session, frame).await?, "inserted "),
    };
    let seconds = started.elapsed().as_secs_f64();
    let line = format!("{done}{} row{} in {seconds:.3} s", grouped(rows), if rows == 1 { "" } else { "s" });
    context.say(context.paint_stderr().dim(line));
    Ok(())
}

async fn show(context: &Context, frame: DataFrame) -> Result<u64> {
    let mut rows = frame.execute_stream().await.map_err(sql_failure)?;
    let mut writer = RowWriter::stdout(context.format(), context.paint(), rows.schema())?.fitting(stdout_width());
    while let Some(batch) = rows.try_next().await.map_err(sql_failure)? {
        writer.write(batch)?;
        // Rows may always be there: whoever listens for Ctrl-C must have its turn.
        tokio::task::yield_now().await;
    }
    writer.finish()
}

/// Plans for people: what each is, and below it the text as it is.
async fn show_texts(context: &Context, frame: DataFrame) -> Result<()> {
    let mut out = io::stdout().lock();
    for batch in frame.collect().await.map_err(sql_failure)? {
        let texts = |column: usize| arrow::compute::cast(batch.column(column), &DataType::Utf8);
        let (names, texts) = (texts(0)?, texts(1)?);
        for (name, text) in names.as_string::<i32>().iter().zip(texts.as_string::<i32>()) {
            writeln!(out, "{}", context.paint().bold(printable(name.unwrap_or_default())))?;
            for line in text.unwrap_or_default().lines() {
                writeln!(out, "  {}", printable(line))?;
            }
        }
    }
    Ok(())
}

/// Inserts all rows or none; Ctrl-C does not interrupt a commit.
async fn insert(session: &SessionContext, frame: DataFrame) -> Result<u64> {
    let mut work = pin!(frame.collect());
    let mut interrupted = None;
    let counts = loop {
        tokio::select! {
            counts = &mut work => break counts,
            failure = interruption()? => {
                interrupted = Some(failure);
                if let Some(interrupt) = Interrupt::of(session) {
                    interrupt.stop();
                }
            }
        }
    };
    let counts = counts.map_err(|error| interrupted.unwrap_or_else(|| sql_failure(error)))?;
    let count = counts.first().and_then(|counts| counts.column(0).as_primitive_opt::<UInt64Type>()?.iter().next()?);
    count.ok_or_else(|| Failure::new("the rows were inserted, but nobody knows how many"))
}

/// Tells mistakes in the statement from what went wrong in running it.
pub(crate) fn sql_failure(error: DataFusionError) -> Failure {
    let is_mistake = matches!(
        error.find_root(),
        DataFusionError::SQL(..) | DataFusionError::Plan(_) | DataFusionError::SchemaError(..)
    );
    let failure = Failure::from(error);
    if is_mistake { failure.into_usage() } else { failure }
}
