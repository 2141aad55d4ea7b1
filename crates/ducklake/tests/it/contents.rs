//! What a lake holds, read from tables such as `DuckLake` makes.

use lakelock_ducklake::{ColumnDef, Contents, ErrorKind, Lake, LakeFile, NewTable, OpenOptions, Transaction};
use lakelock_storage::Storage;

use crate::support::{
    Value::{self, Flag, Int, Null, Text},
    assert_fails, writing,
};

/// A table of these columns, `NAME TYPE`, with these rows.
async fn table(transaction: &mut Transaction, name: &str, columns: &[&str], rows: &[&[Value<'_>]]) {
    let columns = columns.iter().map(|column| {
        let (name, r#type) = column.split_once(' ').unwrap();
        ColumnDef::new(name, r#type)
    });
    let new =
        NewTable { schema: "main".to_owned(), name: name.to_owned(), columns: columns.collect(), primary_key: vec![] };
    transaction.create_table(new, false).unwrap();
    let table = transaction.table("main", name).unwrap().id();
    transaction.insert(table, rows.iter().map(|values| crate::support::row(values)).collect()).await.unwrap();
}

const METADATA: [&str; 4] = ["key VARCHAR", "value VARCHAR", "scope VARCHAR", "scope_id BIGINT"];
const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZg==";

/// Table 1 (`s.t`) has had file 10 and has 11, with delete file 12; table 2 (`s.u`) came with snapshot 1.
async fn fill(transaction: &mut Transaction) {
    let snapshots: [&[Value<'_>]; 2] = [&[Int(0)], &[Int(1)]];
    table(transaction, "ducklake_snapshot", &["snapshot_id BIGINT"], &snapshots).await;
    let metadata: [&[Value<'_>]; 3] = [
        &[Text("data_path"), Text("s3://b/lake/"), Null, Null],
        &[Text("encrypted"), Text("true"), Null, Null],
        &[Text("encrypted"), Text("of a table"), Text("table"), Int(1)],
    ];
    table(transaction, "ducklake_metadata", &METADATA, &metadata).await;
    let lived = ["begin_snapshot BIGINT", "end_snapshot BIGINT", "path VARCHAR", "path_is_relative BOOLEAN"];
    let columns = |own: &[&'static str]| [own, &lived].concat();
    let schemas: [&[Value<'_>]; 1] = [&[Int(5), Text("s"), Int(0), Null, Text("s/"), Flag(true)]];
    table(transaction, "ducklake_schema", &columns(&["schema_id BIGINT", "schema_name VARCHAR"]), &schemas).await;
    let tables: [&[Value<'_>]; 2] = [
        &[Int(1), Int(5), Text("t"), Int(0), Null, Text("t/"), Flag(true)],
        &[Int(2), Int(5), Text("u"), Int(1), Null, Text("s3://other/u/"), Flag(false)],
    ];
    let own = ["table_id BIGINT", "schema_id BIGINT", "table_name VARCHAR"];
    table(transaction, "ducklake_table", &columns(&own), &tables).await;
    let numbers = ["table_id BIGINT", "file_size_bytes BIGINT", "encryption_key VARCHAR"];
    let own = [&["data_file_id BIGINT", "record_count BIGINT"], &numbers[..]].concat();
    let files: [&[Value<'_>]; 3] = [
        &[Int(10), Int(100), Int(1), Int(1000), Text(KEY), Int(0), Int(1), Text("a.parquet"), Flag(true)],
        &[Int(11), Int(200), Int(1), Int(2000), Text(KEY), Int(1), Null, Text("b.parquet"), Flag(true)],
        &[Int(13), Int(300), Int(2), Int(3000), Null, Int(1), Null, Text("c.parquet"), Flag(true)],
    ];
    table(transaction, "ducklake_data_file", &columns(&own), &files).await;
    let own = [&["delete_file_id BIGINT", "delete_count BIGINT"], &numbers[..]].concat();
    let deletes: [&[Value<'_>]; 1] =
        [&[Int(12), Int(3), Int(1), Int(50), Text(KEY), Int(1), Null, Text("s3://b/d.parquet"), Flag(false)]];
    table(transaction, "ducklake_delete_file", &columns(&own), &deletes).await;
}

#[tokio::test]
async fn a_lake_shows_its_tables_and_files_of_any_snapshot() {
    let lake = crate::support::in_memory().await;
    let mut transaction = lake.begin().await.unwrap();
    assert_fails(Contents::read(&transaction, "main", None).await, ErrorKind::NotFound, &["ducklake_snapshot"]);
    fill(&mut transaction).await;
    transaction.commit().await.unwrap();

    let transaction = lake.begin().await.unwrap();
    let newest = Contents::read(&transaction, "main", None).await.unwrap();
    assert_eq!((newest.snapshot(), newest.is_encrypted()), (1, true));
    let shown = |tables: Vec<lakelock_ducklake::LakeTable>| {
        let line = |table: lakelock_ducklake::LakeTable| {
            (table.id, format!("{}.{}", table.schema, table.name), table.files, table.rows, table.bytes, table.path)
        };
        tables.into_iter().map(line).collect::<Vec<_>>()
    };
    let t = |rows, bytes| (1, "s.t".to_owned(), 1, rows, bytes, "s3://b/lake/s/t/".to_owned());
    let u = (2, "s.u".to_owned(), 1, 300, 3000, "s3://other/u/".to_owned());
    assert_eq!(shown(newest.tables().await.unwrap()), [t(200, 2000), u]);
    let files = newest.files(Some(1)).await.unwrap();
    let file = |id, deletes, location: &str, rows, bytes| LakeFile {
        id,
        table_id: 1,
        deletes,
        location: location.to_owned(),
        rows: Some(rows),
        bytes: Some(bytes),
        has_key: true,
        begin_snapshot: Some(1),
    };
    let expected = [file(11, false, "s3://b/lake/s/t/b.parquet", 200, 2000), file(12, true, "s3://b/d.parquet", 3, 50)];
    assert_eq!(files, expected);
    assert!(!format!("{files:?} {newest:?}").contains(KEY));
    let all = newest.files(None).await.unwrap();
    assert_eq!(all.iter().filter(|file| !file.has_key).map(|file| file.id).collect::<Vec<_>>(), [13]);

    let before = Contents::read(&transaction, "main", Some(0)).await.unwrap();
    assert_eq!(shown(before.tables().await.unwrap()), [t(100, 1000)]);
    assert_fails(Contents::read(&transaction, "main", Some(7)).await, ErrorKind::NotFound, &["7"]);
}

#[tokio::test]
async fn whether_a_lake_is_encrypted_is_fixed() {
    fn row(key: &str, value: &str) -> bytes::Bytes {
        crate::support::row(&[Text(key), Text(value), Null, Null])
    }
    for made in [None, Some(true), Some(false)] {
        let options = OpenOptions { encrypted: made, ..writing() };
        let lake = Lake::open(&Storage::in_memory(), "memory://lake", options).await.unwrap();
        let mut transaction = lake.begin().await.unwrap();
        table(&mut transaction, "ducklake_metadata", &METADATA, &[&[Text("version"), Text("1.0"), Null, Null]]).await;
        let metadata = transaction.table("main", "ducklake_metadata").unwrap().id();
        if let Some(made) = made {
            let other = vec![row("encrypted", &(!made).to_string())];
            assert_fails(transaction.insert(metadata, other).await, ErrorKind::InvalidInput, &["fixed"]);
        }
        let flag = made.unwrap_or(true).to_string();
        let ids = transaction.insert(metadata, vec![row("encrypted", &flag), row("other", "x")]).await.unwrap();
        transaction.commit().await.unwrap();

        let mut transaction = lake.begin().await.unwrap();
        let other = row("encrypted", &(!made.unwrap_or(true)).to_string());
        assert_fails(transaction.update(metadata, vec![(ids[0], other)]).await, ErrorKind::InvalidInput, &["fixed"]);
        let renamed = vec![(ids[0], row("encryption", &flag))];
        assert_fails(transaction.update(metadata, renamed).await, ErrorKind::InvalidInput, &["fixed"]);
        assert_fails(transaction.delete(metadata, ids.clone()).await, ErrorKind::InvalidInput, &["fixed"]);
        // The same value again is no change, and the other rows are free.
        assert_eq!(transaction.update(metadata, vec![(ids[0], row("encrypted", &flag))]).await.unwrap(), 1);
        assert_eq!(transaction.delete(metadata, vec![ids[1]]).await.unwrap(), 1);
        transaction.commit().await.unwrap();
    }
}
