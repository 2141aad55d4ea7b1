//! `lakelock sql`: a statement, or a shell.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use datafusion::error::DataFusionError;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use futures::TryStreamExt as _;
use lakelock_catalog::Catalog;

use super::table;
use crate::context::{Context, OpenCatalog};
use crate::failure::{Context as _, Failure, Result};
use crate::names;
use crate::output::RowWriter;
use crate::shell::{HELP, Request, Shell, Words};
use crate::terminal::{grouped, stderr_width, stdout_width};

/// Columns of so many tables are known to the shell's completion.
const COMPLETED_TABLES: usize = 100;

/// Query tables with SQL, in one statement or in a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Tables are NAMESPACE.TABLE, with the catalog's name before it if need be.
Without a statement, and on a terminal, this is a shell: statements end with a
semicolon, Tab completes, \\? helps. Every table also has the columns _row_id,
_last_updated_sequence_number, _file and _pos, for those who name them.
The language is DataFusion's; `lakelock load` and `lakelock table` change tables.

Examples:
  lakelock sql 'select day, sum(total) from shop.orders group by day order by day'
  lakelock sql 'select * from shop.orders' --output csv > orders.csv
  lakelock sql -f report.sql --output json | jq .total
  echo 'select 1' | lakelock sql
  lakelock sql                                   the shell")]
pub(crate) struct Arguments {
    /// The statement
    statement: Option<String>,
    /// Read the statement from a file; - for standard input
    #[arg(long, short, value_name = "FILE", conflicts_with = "statement")]
    file: Option<PathBuf>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let statement = match (arguments.statement, arguments.file) {
        (Some(statement), _) => Some(statement),
        (None, Some(file)) if file == Path::new("-") => Some(read_stdin()?),
        (None, Some(file)) => {
            Some(std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?)
        }
        (None, None) if io::stdin().is_terminal() => None,
        (None, None) => Some(read_stdin()?),
    };
    let catalog = context.catalog_with_keys().await?;
    let session = session(&catalog).await?;
    match statement {
        Some(statement) => query(context, &session, &statement).await,
        None => shell(context, &catalog, &session).await,
    }
}

fn read_stdin() -> Result<String> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}

/// A session whose tables are those of the catalog.
pub(crate) async fn session(catalog: &OpenCatalog) -> Result<SessionContext> {
    Ok(lakelock_datafusion::session_context([catalog.shared()]).await?)
}

/// Runs a statement: rows to standard output, their number and the time to standard error.
pub(crate) async fn query(context: &Context, session: &SessionContext, statement: &str) -> Result<()> {
    let started = Instant::now();
    let statement = statement.trim().trim_end_matches(';');
    if statement.is_empty() {
        return Err(Failure::usage("there is no statement to run"));
    }
    if !only_reads(session, statement)? {
        return Err(cannot_change());
    }
    let frame = lakelock_datafusion::sql(session, statement).await.map_err(sql_failure)?;
    // A query may still hide a write: COPY and the like would put rows into files in the clear.
    let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false);
    options.verify_plan(frame.logical_plan()).map_err(|_| cannot_change())?;
    let mut rows = frame.execute_stream().await.map_err(sql_failure)?;
    let mut writer = RowWriter::stdout(context.format(), context.paint(), rows.schema())?.fitting(stdout_width());
    while let Some(batch) = rows.try_next().await.map_err(sql_failure)? {
        writer.write(batch)?;
    }
    let count = writer.finish()?;
    let seconds = started.elapsed().as_secs_f64();
    let line = format!("{} row{} in {seconds:.3} s", grouped(count), if count == 1 { "" } else { "s" });
    context.say(context.paint_stderr().dim(line));
    Ok(())
}

/// Whether a statement is one of those that change nothing.
fn only_reads(session: &SessionContext, statement: &str) -> Result<bool> {
    fn reads(statement: &Statement) -> bool {
        match statement {
            Statement::Statement(statement) => matches!(
                **statement,
                SqlStatement::Query(_)
                    | SqlStatement::ExplainTable { .. }
                    | SqlStatement::ShowColumns { .. }
                    | SqlStatement::ShowTables { .. }
                    | SqlStatement::ShowVariable { .. }
            ),
            Statement::Explain(explain) => reads(&explain.statement),
            _ => false,
        }
    }
    let state = session.state();
    let dialect = state.config_options().sql_parser.dialect;
    Ok(reads(&state.sql_to_statement(statement, &dialect).map_err(sql_failure)?))
}

fn cannot_change() -> Failure {
    Failure::usage("this statement would change something, and `lakelock sql` only reads")
        .hint("`lakelock load` and `lakelock table` change tables")
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

async fn shell(context: &Context, catalog: &OpenCatalog, session: &SessionContext) -> Result<()> {
    let mut shell = Shell::new(words(&**catalog).await?, context.paint())?;
    context.say(format!("Catalog {}. \\? helps, \\q leaves.", catalog.name()));
    while let Some(request) = shell.next()? {
        let outcome = match request {
            Request::Quit => break,
            Request::Help => {
                writeln!(io::stdout(), "{HELP}")?;
                Ok(())
            }
            Request::Unknown(what) => Err(Failure::usage(format!("{what} is unknown")).hint("\\? lists what there is")),
            Request::Describe(None) => query(context, session, &list_tables(catalog)).await,
            Request::Describe(Some(table)) => columns(context, catalog, &table).await,
            Request::Statement(statement) => tokio::select! {
                outcome = query(context, session, &statement) => outcome,
                _ = tokio::signal::ctrl_c() => Err(Failure::new("interrupted")),
            },
        };
        match outcome {
            Err(failure) if failure.is_broken_pipe() => break,
            Err(failure) => write!(io::stderr(), "{}", failure.render(context.paint_stderr(), stderr_width()))?,
            Ok(()) => {}
        }
    }
    shell.save();
    Ok(())
}

async fn columns(context: &Context, catalog: &OpenCatalog, table: &str) -> Result<()> {
    let table = catalog.load_table(&names::table(table)?).await?;
    table::columns(table.metadata()).print(context.format(), context.paint())
}

fn list_tables(catalog: &OpenCatalog) -> String {
    let name = catalog.name().replace('\'', "''");
    format!(
        "select table_schema || '.' || table_name as \"table\" from information_schema.tables \
         where table_catalog = '{name}' and table_schema <> 'information_schema' order by 1"
    )
}

/// Names of tables, and of columns of as many of them as can be looked at quickly.
async fn words(catalog: &dyn Catalog) -> Result<Words> {
    let mut words = Vec::new();
    for (i, ident) in names::all_tables(catalog).await?.into_iter().enumerate() {
        words.push(names::show(&ident));
        words.push(names::show_namespace(ident.namespace()));
        if i < COMPLETED_TABLES
            && let Ok(table) = catalog.load_table(&ident).await
        {
            let schema = table.metadata().current_schema().clone();
            words.extend(schema.as_struct().fields().iter().map(|field| field.name.clone()));
        }
    }
    Ok(Words::new(words))
}
