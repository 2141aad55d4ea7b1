//! What the tests share: rows, and a table like `DuckLake`'s own.

use bytes::Bytes;
use lakelock_ducklake::{
    Access, ColumnDef, ErrorKind, Filter, Lake, NewTable, OpenOptions, Result, RowId, TableId, Transaction,
};
use lakelock_storage::Storage;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Flag(bool),
    Int(i64),
    Text(&'a str),
}

/// A row in the encoding that callers use.
pub(crate) fn row(values: &[Value<'_>]) -> Bytes {
    let mut row = Vec::new();
    for value in values {
        match value {
            Value::Null => row.push(0),
            Value::Flag(flag) => row.extend([1, u8::from(*flag)]),
            Value::Int(number) => {
                row.push(1);
                row.extend(number.to_le_bytes());
            }
            Value::Text(text) => {
                row.extend([1, u8::try_from(text.len()).unwrap()]);
                assert!(text.len() < 0x80);
                row.extend(text.as_bytes());
            }
        }
    }
    row.into()
}

/// A row of [`files`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct File {
    pub(crate) id: i64,
    pub(crate) table: i64,
    pub(crate) end: Option<i64>,
    pub(crate) path: String,
}

/// Which files a filter is about.
pub(crate) type Meets<'a> = &'a dyn Fn(&File) -> bool;

impl File {
    pub(crate) fn new(id: i64, table: i64, end: Option<i64>, path: &str) -> Self {
        Self { id, table, end, path: path.to_owned() }
    }

    pub(crate) fn encode(&self) -> Bytes {
        let end = self.end.map_or(Value::Null, Value::Int);
        row(&[Value::Int(self.id), Value::Int(self.table), end, Value::Text(&self.path)])
    }

    pub(crate) fn decode(row: &[u8]) -> Self {
        let int = |at: usize| i64::from_le_bytes(row[at..at + 8].try_into().unwrap());
        assert_eq!((row[0], row[9]), (1, 1));
        let (end, path) = if row[18] == 0 { (None, 19) } else { (Some(int(19)), 27) };
        assert_eq!((row[path], usize::from(row[path + 1])), (1, row.len() - path - 2));
        Self { id: int(1), table: int(10), end, path: String::from_utf8(row[path + 2..].to_vec()).unwrap() }
    }
}

/// A table with a primary key, clusters and ended rows.
pub(crate) fn files(name: &str) -> NewTable {
    let columns = vec![
        ColumnDef::new("id", "BIGINT"),
        ColumnDef::new("table_id", "BIGINT"),
        ColumnDef::new("end_snapshot", "BIGINT"),
        ColumnDef::new("path", "VARCHAR"),
    ];
    NewTable { schema: "main".to_owned(), name: name.to_owned(), columns, primary_key: vec![0] }
}

pub(crate) const TABLE_ID: usize = 1;
pub(crate) const END: usize = 2;

pub(crate) fn writing() -> OpenOptions {
    OpenOptions { access: Access::ReadWrite, create: true, ..OpenOptions::default() }
}

pub(crate) fn reading() -> OpenOptions {
    OpenOptions::default()
}

pub(crate) async fn in_memory() -> Lake {
    Lake::open(&Storage::in_memory(), "memory://lake", writing()).await.unwrap()
}

/// Makes the table [`files`] and commits.
pub(crate) async fn create(lake: &Lake, name: &str) -> TableId {
    let mut transaction = lake.begin().await.unwrap();
    transaction.create_table(files(name), true).unwrap();
    let id = transaction.table("main", name).unwrap().id();
    transaction.commit().await.unwrap();
    id
}

pub(crate) async fn insert(transaction: &mut Transaction, table: TableId, file: &File) -> Result<RowId> {
    transaction.insert(table, vec![file.encode()]).await.map(|ids| ids[0])
}

pub(crate) async fn scan(transaction: &Transaction, table: TableId, filters: &[Filter]) -> Vec<(RowId, File)> {
    let rows = transaction.scan(table, filters).unwrap().collect().await.unwrap();
    rows.iter().map(|(id, row)| (*id, File::decode(row))).collect()
}

/// All files of a table, sorted.
pub(crate) async fn all(transaction: &Transaction, table: TableId) -> Vec<File> {
    let mut files: Vec<_> = scan(transaction, table, &[]).await.into_iter().map(|(_, file)| file).collect();
    files.sort();
    files
}

#[track_caller]
pub(crate) fn assert_fails<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind, words: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
    // DuckLake tries again by these.
    let retried = ["primary key", "unique", "conflict", "concurrent"].iter().any(|word| message.contains(word));
    let meant = matches!(kind, ErrorKind::Conflict | ErrorKind::Constraint);
    assert_eq!(retried, meant, "{message:?}");
}
