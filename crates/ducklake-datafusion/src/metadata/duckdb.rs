//! Metadata tables in a `DuckDB` file, read by `DuckDB`'s own command-line client: no other program reads the format.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Map, Value};
use tokio::process::Command;

use super::{Cell, Rows, Wanted, literal, quoted};
use crate::error::{Error, ErrorKind, Result, invalid, not_found};

pub(crate) struct DuckDb {
    program: PathBuf,
    file: PathBuf,
    schema: String,
}

type Objects = Vec<Map<String, Value>>;

impl DuckDb {
    pub(super) fn new(file: &Path, schema: Option<&str>, program: Option<PathBuf>) -> Result<Self> {
        if !file.is_file() {
            return Err(not_found(format!("there is no file {}", file.display())));
        }
        let file = file.canonicalize().map_err(|error| Error::new(ErrorKind::Storage, "no path").with_source(error))?;
        let program = program.unwrap_or_else(|| "duckdb".into());
        Ok(Self { program, file, schema: schema.unwrap_or("main").to_owned() })
    }

    pub(super) async fn read(&self, wanted: &[Wanted]) -> Result<Vec<Rows>> {
        let is_there = format!("SELECT table_name FROM duckdb_tables() WHERE schema_name = {}", literal(&self.schema));
        let tables = self.run(&[is_there]).await?.into_iter().flatten();
        let tables: Vec<String> =
            tables.filter_map(|mut row| Some(row.remove("table_name")?.as_str()?.to_owned())).collect();
        let exists = |wanted: &Wanted| tables.iter().any(|table| table.eq_ignore_ascii_case(&wanted.table));
        let found: Vec<&Wanted> = wanted.iter().filter(|wanted| exists(wanted)).collect();
        let select = |wanted: &&Wanted| {
            let from = format!("{}.{}", quoted(&self.schema), quoted(&wanted.table));
            format!("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM {from}{}", wanted.condition())
        };
        let statements: Vec<_> = found.iter().map(select).collect();
        let answers = if statements.is_empty() { Vec::new() } else { self.run(&statements).await? };
        if answers.len() != found.len() {
            return Err(invalid("the DuckDB client has not answered every statement"));
        }
        let mut answers = answers.into_iter();
        let mut all = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let answer = if exists(wanted) { answers.next() } else { None };
            all.push(match answer {
                Some(objects) => rows(wanted, objects)?,
                None => wanted.missing()?,
            });
        }
        Ok(all)
    }

    /// The rows of each SELECT, all of one moment.
    async fn run(&self, statements: &[String]) -> Result<Vec<Objects>> {
        let sql = format!("BEGIN TRANSACTION READ ONLY; {}; COMMIT;", statements.join("; "));
        let mut command = Command::new(&self.program);
        // No start-up file: it may print, or change what is printed.
        command.args(["-readonly", "-json", "-bail", "-init", "/dev/null"]).arg(&self.file).args(["-c", &sql]);
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.map_err(|error| {
            let message = format!(
                "a catalog in a DuckDB file is read by DuckDB's command-line client, and {} cannot be run: install it \
                 (https://duckdb.org/install), or say where it is with --duckdb or $DUCKDB_CLI",
                self.program.display()
            );
            Error::new(ErrorKind::Storage, message).with_source(error)
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let message = format!("DuckDB cannot read the catalog {}", self.file.display());
            return Err(Error::new(ErrorKind::Storage, message).with_source(said.trim()));
        }
        let answers = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
        answers.collect::<Result<_, _>>().map_err(|_| invalid("what the DuckDB client answers is not JSON"))
    }
}

fn rows(wanted: &Wanted, objects: Objects) -> Result<Rows> {
    let columns = objects.first().map(|first| first.keys().cloned().collect()).unwrap_or_default();
    let mut rows = Rows::new(wanted.table.clone(), columns);
    for object in objects {
        let cell = |value| match value {
            Value::Null => Ok(Cell::Null),
            Value::String(text) => Ok(Cell::Text(text)),
            _ => Err(invalid("what the DuckDB client answers is not text")),
        };
        rows.push(object.into_iter().map(|(_, value)| cell(value)).collect::<Result<_>>()?)?;
    }
    Ok(rows)
}
