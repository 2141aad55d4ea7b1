//! Metadata tables in a `PostgreSQL` database.

use std::str::FromStr;

use sqlx::{
    AssertSqlSafe, PgPool, Row as _,
    postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgSslMode},
};

use super::{Cell, Rows, Wanted, literal, quoted};
use crate::error::{Error, ErrorKind, Result};

pub(crate) struct Postgres {
    pool: PgPool,
    schema: String,
}

impl Postgres {
    /// Connects when something is read.
    pub(super) fn new(text: &str, schema: Option<&str>) -> Result<Self> {
        let options = if text.contains("://") {
            PgConnectOptions::from_str(text).map_err(|_| invalid("the URL of the PostgreSQL database is none"))?
        } else {
            key_values(text)?
        };
        let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options.application_name("lakelock"));
        Ok(Self { pool, schema: schema.unwrap_or("public").to_owned() })
    }

    pub(super) async fn read(&self, wanted: &[Wanted]) -> Result<Vec<Rows>> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let mut transaction = self.pool.begin_with(BEGIN).await.map_err(error)?;
        for setting in ["SET LOCAL TIME ZONE 'UTC'", "SET LOCAL datestyle = 'ISO'"] {
            sqlx::query(setting).execute(&mut *transaction).await.map_err(error)?;
        }
        let mut answers = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            answers.push(self.table(&mut transaction, wanted).await?);
        }
        transaction.rollback().await.map_err(error)?;
        Ok(answers)
    }

    async fn table(&self, connection: &mut PgConnection, wanted: &Wanted) -> Result<Rows> {
        let columns = format!(
            "SELECT column_name::text, data_type::text FROM information_schema.columns \
             WHERE table_schema = {} AND table_name = {} ORDER BY ordinal_position",
            literal(&self.schema),
            literal(&wanted.table)
        );
        let columns: Vec<(String, String)> =
            sqlx::query_as(AssertSqlSafe(columns)).fetch_all(&mut *connection).await.map_err(error)?;
        if columns.is_empty() {
            return wanted.missing();
        }
        let is_bytes: Vec<_> = columns.iter().map(|(_, data_type)| data_type == "bytea").collect();
        let texts: Vec<_> = columns
            .iter()
            .zip(&is_bytes)
            .map(|((name, _), is_bytes)| match (quoted(name), is_bytes) {
                (name, true) => format!("encode({name}, 'hex')"),
                (name, false) => format!("{name}::text"),
            })
            .collect();
        let from = format!("{}.{}", quoted(&self.schema), quoted(&wanted.table));
        let sql = format!("SELECT {} FROM {from}{}", texts.join(", "), wanted.condition());
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await.map_err(error)?;
        let mut rows = Rows::new(wanted.table.clone(), columns.into_iter().map(|(name, _)| name).collect());
        for row in found {
            let cell = |(at, is_bytes): (usize, &bool)| {
                Ok(match row.try_get::<Option<String>, _>(at).map_err(error)? {
                    None => Cell::Null,
                    Some(text) if *is_bytes => Cell::Bytes(hex::decode(text).map_err(error)?),
                    Some(text) => Cell::Text(text),
                })
            };
            rows.push(is_bytes.iter().enumerate().map(cell).collect::<Result<_>>()?)?;
        }
        Ok(rows)
    }
}

/// Not the text itself, which may hold a password.
fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

fn error(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Storage, "cannot read the PostgreSQL catalog").with_source(error)
}

/// Options as libpq takes them: `key=value`, where a value with blanks is in single quotes and a backslash stands before a
/// quote or backslash. <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-KEYWORD-VALUE>.
fn key_values(text: &str) -> Result<PgConnectOptions> {
    let mut options = PgConnectOptions::new();
    for (key, value) in pairs(text)? {
        let number = |what: &str| value.parse().map_err(|_| invalid(format!("{what} is no number")));
        options = match key.as_str() {
            "host" if value.starts_with('/') => options.socket(&value),
            "host" | "hostaddr" => options.host(&value),
            "port" => options.port(number("port")?),
            "dbname" => options.database(&value),
            "user" => options.username(&value),
            "password" => options.password(&value),
            "sslmode" => options.ssl_mode(PgSslMode::from_str(&value).map_err(|_| invalid("sslmode is none"))?),
            "sslrootcert" => options.ssl_root_cert(&value),
            "sslcert" => options.ssl_client_cert(&value),
            "sslkey" => options.ssl_client_key(&value),
            "application_name" | "connect_timeout" => options,
            key => return Err(invalid(format!("{key} is no option of a PostgreSQL catalog that is known here"))),
        };
    }
    Ok(options)
}

fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let expected = || invalid("expected key=value pairs, as in 'dbname=lake host=localhost'");
        let (key, after) = rest.split_once('=').ok_or_else(expected)?;
        let key = key.trim();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(expected());
        }
        let after = after.trim_start();
        let (quoted, body) = after.strip_prefix('\'').map_or((false, after), |body| (true, body));
        let mut value = String::new();
        let mut end = None;
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
                '\'' if quoted => {
                    end = Some(at + 1);
                    break;
                }
                c if !quoted && c.is_whitespace() => {
                    end = Some(at);
                    break;
                }
                c => value.push(c),
            }
        }
        if quoted && end.is_none() {
            return Err(invalid("a quote is not closed in the options of the PostgreSQL catalog"));
        }
        rest = end.and_then(|end| body.get(end..)).unwrap_or_default().trim_start();
        pairs.push((key.to_owned(), value));
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_as_libpq_takes_them() {
        for (text, expected) in [
            ("", vec![]),
            ("dbname=a", vec![("dbname", "a")]),
            (" host = 'a b'  user=it\\'s ", vec![("host", "a b"), ("user", "it's")]),
            ("password='\\'x\\\\' dbname=''", vec![("password", "'x\\"), ("dbname", "")]),
        ] {
            let expected: Vec<_> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(pairs(text).unwrap(), expected, "{text}");
        }
        for text in ["dbname", "=a", "a b=c", "password='secret"] {
            assert!(!pairs(text).unwrap_err().to_string().contains("secret"), "{text}");
        }
        let options = key_values("host=/run/pg port=5433 dbname=d user=u").unwrap();
        assert_eq!(options.get_socket().unwrap().to_str(), Some("/run/pg"));
        assert_eq!((options.get_port(), options.get_database()), (5433, Some("d")));
        for wrong in ["port=x", "sslmode=x", "secret=x"] {
            assert!(key_values(wrong).is_err(), "{wrong}");
        }
    }
}
