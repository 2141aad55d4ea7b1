//! The shell.

use std::io::{self, Write as _};

use datafusion::execution::context::SessionContext;
use lakelock_catalog::Catalog;

use super::access::Access;
use super::{Source, query};
use crate::commands::table;
use crate::context::{Context, OpenCatalog};
use crate::failure::{Failure, Result};
use crate::names;
use crate::shell::{HELP, Request, Shell, Words, statements};
use crate::terminal::stderr_width;

/// Columns of so many tables are known to the completion.
const COMPLETED_TABLES: usize = 100;

pub(super) async fn run(context: &Context, source: &Source, session: &SessionContext) -> Result<()> {
    let words = match source {
        Source::Catalog(catalog) => words(&**catalog).await?,
        Source::Lake(_) => words_of_session(session, source.name()).await,
    };
    let mut shell = Shell::new(words, context.paint())?;
    context.say(match source {
        Source::Catalog(catalog) => format!("Catalog {}. \\? helps, \\q leaves.", catalog.name()),
        Source::Lake(lake) => format!("Lake {}. \\? helps, \\q leaves.", lake.location()),
    });
    while let Some(request) = shell.next()? {
        let outcome = match request {
            Request::Quit => break,
            Request::Help => {
                writeln!(io::stdout(), "{HELP}")?;
                Ok(())
            }
            Request::Unknown(what) => Err(Failure::usage(format!("{what} is unknown")).hint("\\? lists what there is")),
            Request::Describe(None) => query(context, session, &list_tables(source.name())).await,
            Request::Describe(Some(table)) => match source {
                Source::Catalog(catalog) => columns(context, catalog, &table).await,
                Source::Lake(_) => query(context, session, &format!("describe {table}")).await,
            },
            Request::Statement(statement) => run_all(context, session, &statement).await,
        };
        match outcome {
            Err(failure) if failure.is_broken_pipe() => break,
            Err(failure) => write!(io::stderr(), "{}", failure.render(context.paint_stderr(), stderr_width()))?,
            Ok(()) => {}
        }
    }
    Ok(())
}

/// Runs statements, one after the other, until they end, one fails, or Ctrl-C is pressed.
async fn run_all(context: &Context, session: &SessionContext, text: &str) -> Result<()> {
    for statement in statements(text) {
        run_one(context, session, statement).await?;
    }
    Ok(())
}

async fn run_one(context: &Context, session: &SessionContext, statement: &str) -> Result<()> {
    // An insert listens itself: it must not be dropped while it commits.
    if Access::of(session, statement)? == Access::Insert {
        return query(context, session, statement).await;
    }
    tokio::select! {
        outcome = query(context, session, statement) => outcome,
        _ = tokio::signal::ctrl_c() => Err(Failure::interrupted("interrupted")),
    }
}

async fn columns(context: &Context, catalog: &OpenCatalog, table: &str) -> Result<()> {
    let table = catalog.load_table(&names::table(table)?).await?;
    table::columns(table.metadata()).print(context.format(), context.paint())
}

fn list_tables(catalog: &str) -> String {
    let name = catalog.replace('\'', "''");
    format!(
        "select table_schema || '.' || table_name as \"table\" from information_schema.tables \
         where table_catalog = '{name}' and table_schema <> 'information_schema' order by 1"
    )
}

/// Names of tables, and of columns of as many of them as can be looked at quickly, as SQL takes them.
async fn words(catalog: &dyn Catalog) -> Result<Words> {
    let mut words = Vec::new();
    for (i, ident) in names::all_tables(catalog).await?.into_iter().enumerate() {
        let namespace = names::in_sql(&names::show_namespace(ident.namespace()));
        words.push(format!("{namespace}.{}", names::in_sql(ident.name())));
        words.push(namespace);
        if i < COMPLETED_TABLES
            && let Ok(table) = catalog.load_table(&ident).await
        {
            let schema = table.metadata().current_schema().clone();
            words.extend(schema.as_struct().fields().iter().map(|field| names::in_sql(&field.name)));
        }
    }
    Ok(Words::new(words))
}

/// The same, of what a session knows.
async fn words_of_session(session: &SessionContext, catalog: &str) -> Words {
    let mut words = Vec::new();
    let Some(catalog) = session.catalog(catalog) else { return Words::new(words) };
    for name in catalog.schema_names() {
        words.push(names::in_sql(&name));
        let Some(schema) = catalog.schema(&name) else { continue };
        for table in schema.table_names() {
            words.push(format!("{}.{}", names::in_sql(&name), names::in_sql(&table)));
            if let Ok(Some(table)) = schema.table(&table).await {
                words.extend(table.schema().fields().iter().map(|field| names::in_sql(field.name())));
            }
        }
    }
    Words::new(words)
}
