//! Which statements run: those that read, and inserts. Everything else is refused by name, so that no statement of a
//! future version of the engine slips through.

use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{LogicalPlan, WriteOp};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

use super::{numbers, sql_failure};
use crate::failure::{Failure, Result};

/// What a statement does to tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// A read whose rows are texts of many lines.
    Explain,
    Insert,
}

impl Access {
    /// That of a statement.
    pub(super) fn of(session: &SessionContext, statement: &str) -> Result<Self> {
        let statement = lakelock_datafusion::parse(session, statement).map_err(sql_failure)?;
        match &statement {
            Statement::Statement(inner) if matches!(**inner, SqlStatement::Insert(_)) => {
                numbers::check(inner)?;
                Ok(Self::Insert)
            }
            Statement::Explain(explain) if reads(&explain.statement) => Ok(Self::Explain),
            statement if reads(statement) => Ok(Self::Read),
            statement => Err(unsupported(&name(statement))),
        }
    }

    /// Makes sure that a plan does no more: a query could still hide a write. COPY and the like would put rows into files
    /// in the clear.
    pub(super) fn check(self, plan: &LogicalPlan) -> Result<()> {
        let options = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let rows = match (self, plan) {
            (Self::Insert, LogicalPlan::Dml(dml)) => match &dml.op {
                WriteOp::Insert(InsertOp::Append) => &*dml.input,
                other => return Err(unsupported(&other.to_string().to_uppercase())),
            },
            (Self::Insert, _) => return Err(unsupported("this form of INSERT")),
            (Self::Read | Self::Explain, plan) => plan,
        };
        options.verify_plan(rows).map_err(|_| unsupported("a change within a query"))
    }
}

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
        _ => false,
    }
}

/// What a statement is called: its first word, and what it is about.
fn name(statement: &Statement) -> String {
    const OBJECTS: [&str; 8] = ["TABLE", "VIEW", "SCHEMA", "DATABASE", "FUNCTION", "INDEX", "ROLE", "SEQUENCE"];
    if let Statement::Explain(explain) = statement {
        return format!("EXPLAIN of {}", name(&explain.statement));
    }
    let text = statement.to_string().to_uppercase();
    let mut words = text.split_whitespace().take_while(|word| word.bytes().all(|b| b.is_ascii_alphabetic()));
    let verb = words.next().unwrap_or("this statement").to_owned();
    let object = words.take(4).find(|word| OBJECTS.contains(word));
    match (verb.as_str(), object) {
        ("CREATE" | "DROP" | "ALTER", Some(object)) => format!("{verb} {object}"),
        _ => verb,
    }
}

fn unsupported(what: &str) -> Failure {
    let hint = match what {
        "COPY" => "`lakelock sql 'select ...' --output csv > FILE` writes rows to a file",
        "CREATE TABLE" => "`lakelock table create` and `lakelock load --create` make tables",
        "DROP TABLE" => "`lakelock table drop` removes a table",
        "CREATE SCHEMA" | "CREATE DATABASE" => "`lakelock namespace create` makes a namespace",
        "DROP SCHEMA" | "DROP DATABASE" => "`lakelock namespace drop` removes a namespace",
        _ => "queries run, and INSERT INTO a table",
    };
    Failure::usage(format!("{what} is not supported")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart_and_refused_by_name() {
        let cases: &[(&str, Result<Access, &str>)] = &[
            ("with a as (select 1) select * from a", Ok(Access::Read)),
            ("(select 1) union (select 2)", Ok(Access::Read)),
            ("values (1)", Ok(Access::Read)),
            ("select * from t version as of 'a' where b", Ok(Access::Read)),
            ("describe t", Ok(Access::Read)),
            ("show tables", Ok(Access::Read)),
            ("explain analyze select 1", Ok(Access::Explain)),
            ("explain explain select 1", Err("EXPLAIN of EXPLAIN of SELECT is")),
            ("insert into t values (1)", Ok(Access::Insert)),
            ("insert overwrite t values (1)", Ok(Access::Insert)),
            ("explain analyze insert into t values (1)", Err("EXPLAIN of INSERT is")),
            ("explain copy t to 'x'", Err("EXPLAIN of COPY is")),
            ("update t set a = 1", Err("UPDATE is")),
            ("delete from t", Err("DELETE is")),
            ("merge into t using s on t.a = s.a when matched then delete", Err("MERGE is")),
            ("truncate table t", Err("TRUNCATE is")),
            ("create table t (a int)", Err("CREATE TABLE is")),
            ("create or replace view v as select 1", Err("CREATE VIEW is")),
            ("create external table t stored as csv location '/'", Err("CREATE TABLE is")),
            ("create schema s", Err("CREATE SCHEMA is")),
            ("create function f(int) returns int return $1", Err("CREATE FUNCTION is")),
            ("alter table t rename to u", Err("ALTER TABLE is")),
            ("drop table t", Err("DROP TABLE is")),
            ("copy t to 'out.csv'", Err("COPY is")),
            ("set datafusion.execution.batch_size = 1", Err("SET is")),
            ("reset datafusion.execution.batch_size", Err("RESET is")),
            ("begin", Err("BEGIN is")),
            ("prepare p as select 1", Err("PREPARE is")),
            ("use other", Err("USE is")),
        ];
        let session = SessionContext::new();
        for (statement, expected) in cases {
            match (Access::of(&session, statement), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, *expected, "{statement}"),
                (Err(failure), Err(expected)) => {
                    let screen = failure.render(crate::terminal::Paint::plain(), None);
                    assert!(screen.contains(&format!("error: {expected} not supported")), "{statement}: {screen}");
                    assert_eq!(failure.fault(), crate::failure::Fault::Usage);
                }
                (found, _) => panic!("{statement}: {found:?}"),
            }
        }
    }
}
