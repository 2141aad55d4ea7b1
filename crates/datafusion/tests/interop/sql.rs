//! SQL through a catalog: tables made here, filled by `insert into`, read here and by Java.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch};
use datafusion::prelude::SessionContext;
use lakelock_catalog::{Catalog, MemoryCatalog, TableCreation, commit};
use lakelock_datafusion::{Interrupt, session_context, sql};
use lakelock_iceberg::ErrorKind;
use lakelock_iceberg::arrow_schema::schema_to_arrow;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::manifest::{DataFile, FileContent, FileFormat};
use lakelock_iceberg::spec::{
    Literal, NamespaceIdent, NestedField, PrimitiveType, Schema, Struct, TableIdent, Transform, Type,
    UnboundPartitionField, UnboundPartitionSpec,
};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression};
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

use crate::tables::{MASTER_KEY, failure, query};
use crate::{judge, rows};

/// A session over a catalog with one encrypted table `db.t`, partitioned by `name`.
async fn lake(warehouse: &Path) -> (Arc<dyn Catalog>, SessionContext) {
    let properties = HashMap::from([
        ("warehouse".to_owned(), warehouse.to_str().unwrap().to_owned()),
        ("encryption.kms-impl".to_owned(), "memory".to_owned()),
        ("memory.key.keyA".to_owned(), hex::encode(MASTER_KEY)),
    ]);
    let catalog: Arc<dyn Catalog> = Arc::new(MemoryCatalog::new("lake", &properties).unwrap());
    catalog.create_namespace(&NamespaceIdent::new("db".to_owned()), HashMap::new()).await.unwrap();
    let field = |id, name, r#type| NestedField::optional(id, name, Type::Primitive(r#type));
    let fields = [
        NestedField::required(1, "id", Type::Primitive(PrimitiveType::Long)),
        field(2, "name", PrimitiveType::String),
        field(3, "price", PrimitiveType::Decimal { precision: 9, scale: 2 }),
        field(4, "level", PrimitiveType::Int).with_write_default(Literal::int(7)),
    ];
    let schema = Schema::builder().with_fields(fields.map(Arc::new)).build().unwrap();
    let by_name =
        UnboundPartitionField { source_id: 2, field_id: None, name: "name".to_owned(), transform: Transform::Identity };
    let spec = UnboundPartitionSpec::builder().add_partition_fields([by_name]).unwrap().build();
    let key = ("encryption.key-id".to_owned(), "keyA".to_owned());
    let table = TableCreation::new(table_ident(), schema).with_partition_spec(spec).with_properties([key]);
    catalog.create_table(table).await.unwrap();
    let context = session_context([Arc::clone(&catalog)]).await.unwrap();
    (catalog, context)
}

fn table_ident() -> TableIdent {
    TableIdent::from_strs(["db", "t"]).unwrap()
}

async fn run(context: &SessionContext, text: &str) -> Vec<Value> {
    rows::of(query(context, text).await).await
}

fn data_files(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let count = |path: std::path::PathBuf| {
        if path.is_dir() { data_files(&path) } else { usize::from(path.extension().is_some_and(|e| e == "parquet")) }
    };
    entries.map(|entry| count(entry.unwrap().path())).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inserted_rows_are_read_here_and_by_java() {
    let warehouse = tempfile::tempdir().unwrap();
    let (catalog, context) = lake(warehouse.path()).await;
    assert_eq!(run(&context, "select count(*) as n from db.t").await, [json!({"n": 0})]);
    run(&context, "insert into db.t values (1, 'a', 1.5, null), (2, 'b', -2.25, 1), (3, null, null, 2)").await;
    let before = query(&context, "select count(*) as n from db.t").await;
    run(&context, "insert into lake.db.t (id, name) select id + 10, name from db.t where id < 3").await;
    // A query keeps the snapshot that it was planned on.
    assert_eq!(rows::of(before).await, [json!({"n": 3})]);

    let found = run(&context, "select *, _row_id, _last_updated_sequence_number from db.t").await;
    let by_id: HashMap<_, _> = found.iter().map(|row| (row["id"].as_i64().unwrap(), row)).collect();
    assert_eq!(by_id.len(), 5);
    assert_eq!(by_id[&2]["price"], json!("-2.25"));
    assert_eq!(by_id[&1]["level"], Value::Null, "a null that was given is no default");
    assert_eq!((&by_id[&11]["level"], &by_id[&11]["_last_updated_sequence_number"]), (&json!(7), &json!(2)));
    let table = catalog.load_table(&table_ident()).await.unwrap();
    rows::assert_same(&found, &judge::read(table.metadata_location()), "Java");

    let listed = run(&context, "select table_schema, table_name from information_schema.tables where table_catalog = 'lake' and table_schema = 'db'").await;
    assert_eq!(listed, [json!({"table_schema": "db", "table_name": "t"})]);
}

/// Others may have the library for it; see the table property `write.parquet.compression-codec`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brotli_is_read() {
    let warehouse = tempfile::tempdir().unwrap();
    let (catalog, context) = lake(warehouse.path()).await;
    let ident = TableIdent::from_strs(["db", "plain"]).unwrap();
    let id = NestedField::required(1, "id", Type::Primitive(PrimitiveType::Long));
    let schema = Schema::builder().with_fields([Arc::new(id)]).build().unwrap();
    let arrow = schema_to_arrow(&schema).unwrap();
    catalog.create_table(TableCreation::new(ident.clone(), schema)).await.unwrap();

    let mut parquet = Vec::new();
    let brotli = WriterProperties::builder().set_compression(Compression::BROTLI(BrotliLevel::default())).build();
    let mut writer = ArrowWriter::try_new(&mut parquet, Arc::clone(&arrow), Some(brotli)).unwrap();
    let ids = Int64Array::from_iter_values(0..1000);
    writer.write(&RecordBatch::try_new(arrow, vec![Arc::new(ids)]).unwrap()).unwrap();
    writer.close().unwrap();
    let path = warehouse.path().join("brotli.parquet");
    std::fs::write(&path, &parquet).unwrap();
    let file = DataFile::new(
        FileContent::Data,
        path.to_str().unwrap(),
        FileFormat::Parquet,
        0,
        Struct::empty(),
        1000,
        parquet.len() as u64,
    );
    commit(&*catalog, &ident, &AppendFiles::new([file])).await.unwrap();
    assert_eq!(run(&context, "select sum(id) as n from db.plain").await, [json!({"n": 499_500})]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_fails_changes_nothing() {
    let warehouse = tempfile::tempdir().unwrap();
    let (_, context) = lake(warehouse.path()).await;
    run(&context, "insert into db.t (id, name) values (1, 'a')").await;
    let files = data_files(warehouse.path());
    let unsupported = [
        "delete from db.t where id = 1",
        "delete from db.t where false",
        "update db.t set name = 'b'",
        "insert overwrite db.t select * from db.t",
    ];
    for text in unsupported {
        let error = match sql(&context, text).await {
            Ok(frame) => frame.collect().await.unwrap_err(),
            Err(e) => e,
        };
        let (kind, message) = failure(&error);
        assert_eq!(kind, ErrorKind::Unsupported, "{text}: {message}");
        assert!(message.contains("db.t"), "{text}: {message}");
    }
    // A required column without a value, in the last of the rows.
    let text = "insert into db.t (id, name) select case when id < 5000 then id end, 'x' from range(1, 5001) as r(id)";
    if let Ok(frame) = sql(&context, text).await {
        frame.collect().await.unwrap_err();
    }
    assert_eq!(run(&context, "select id, name from db.t").await, [json!({"id": 1, "name": "a"})]);
    assert_eq!(data_files(warehouse.path()), files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_that_is_stopped_removes_its_files() {
    let warehouse = tempfile::tempdir().unwrap();
    let (catalog, context) = lake(warehouse.path()).await;
    let field = NestedField::optional(1, "id", Type::Primitive(PrimitiveType::Long));
    let schema = Schema::builder().with_fields([Arc::new(field)]).build().unwrap();
    let properties = [("encryption.key-id", "keyA"), ("write.target-file-size-bytes", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let name = TableIdent::from_strs(["db", "n"]).unwrap();
    catalog.create_table(TableCreation::new(name.clone(), schema).with_properties(properties)).await.unwrap();
    // It would not end by itself.
    let endless = "insert into db.n select i from generate_series(1, 9000000000000000000) as s(i)";
    let insert = tokio::spawn(query(&context, endless).await.collect());
    while data_files(warehouse.path()) == 0 && !insert.is_finished() {
        tokio::task::yield_now().await;
    }
    Interrupt::of(&context).unwrap().stop();
    let error = insert.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("interrupted: nothing was inserted"), "{error}");
    assert_eq!(data_files(warehouse.path()), 0);
    assert!(catalog.load_table(&name).await.unwrap().metadata().current_snapshot().is_none());
}

/// Several readers share one file, each with row groups of its own; positions still count from the file's start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_read_in_parts_keeps_its_positions() {
    let warehouse = tempfile::tempdir().unwrap();
    let (_, context) = lake(warehouse.path()).await;
    run(&context, "insert into db.t (id, name) select i, 'a' from range(0, 20000) as r(i)").await;
    for setting in ["target_partitions = 4", "parquet.pushdown_filters = true"] {
        query(&context, &format!("set datafusion.execution.{setting}")).await.collect().await.unwrap();
    }
    query(&context, "set datafusion.optimizer.repartition_file_min_size = 1").await.collect().await.unwrap();
    let plan =
        run(&context, "explain select id, _pos from db.t").await.iter().map(Value::to_string).collect::<String>();
    assert!(plan.contains("4 groups"), "{plan}");
    let text = "select count(*) as n, count(distinct _row_id) as ids, min(_pos) as low, max(_pos) as high, \
                sum(case when _pos <> id then 1 else 0 end) as wrong from db.t where id >= 5000";
    let expected = json!({"n": 15000, "ids": 15000, "low": 5000, "high": 19999, "wrong": 0});
    assert_eq!(run(&context, text).await, [expected]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nan_is_greater_than_every_number_in_filters() {
    let warehouse = tempfile::tempdir().unwrap();
    let (catalog, context) = lake(warehouse.path()).await;
    let field = |id, name, r#type| Arc::new(NestedField::optional(id, name, Type::Primitive(r#type)));
    let fields = [field(1, "id", PrimitiveType::Long), field(2, "d", PrimitiveType::Double)];
    let schema = Schema::builder().with_fields(fields).build().unwrap();
    let key = ("encryption.key-id".to_owned(), "keyA".to_owned());
    let name = TableIdent::from_strs(["db", "n"]).unwrap();
    catalog.create_table(TableCreation::new(name, schema).with_properties([key])).await.unwrap();
    run(&context, "insert into db.n values (1, 1.0), (2, cast('NaN' as double)), (3, null)").await;
    for filter in ["d > 1", "d >= 5", "d <> 1", "not (d <= 1)", "d = cast('NaN' as double)"] {
        let found = run(&context, &format!("select id from db.n where {filter}")).await;
        assert_eq!(found, [json!({"id": 2})], "{filter}");
    }
}
