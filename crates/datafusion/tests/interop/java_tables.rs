//! Tables that Java wrote, read as Java reads them.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::compute::concat_batches;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_plan::collect;
use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use datafusion::prelude::{DataFrame, Expr, SessionConfig, SessionContext, lit};
use lakelock_datafusion::LakelockTableProvider;
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::spec::{FormatVersion, TableUpdate};
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};
use lakelock_iceberg::{ErrorKind, Table};
use serde_json::Value;

use crate::tables::{failure, open, query, session};
use crate::{judge, rows};

pub(crate) const READABLE: [&str; 36] = [
    "types",
    "empty",
    "empty-snapshot",
    "unpartitioned",
    "plaintext",
    "partitioned-identity",
    "partitioned-identity-types",
    "partitioned-identity-fixed",
    "partitioned-bucket",
    "partitioned-truncate",
    "partitioned-year",
    "partitioned-month",
    "partitioned-day",
    "partitioned-hour",
    "partition-evolved",
    "evolved",
    "gzip-metadata",
    "many-manifests",
    "metrics-modes",
    "key24",
    "key32",
    "bloom-filters",
    "bloom-filters-key24",
    "several-keks",
    "deletes-dv",
    "deletes-dv-large",
    "deletes-dv-partitioned",
    "deletes-dv-compacted",
    "deletes-positions",
    "deletes-upgraded",
    "deletes-equality",
    "deletes-equality-columns",
    "deletes-equality-types",
    "deletes-equality-partitioned",
    "deletes-equality-evolved",
    "deletes-equality-dropped",
];

/// Everything, with the ids of the rows, which tables before version 3 do not have.
const ALL: &str = "select *, _row_id, _last_updated_sequence_number from t";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_snapshot_has_the_rows_that_java_reads() {
    for scenario in READABLE {
        compare_snapshots(scenario).await;
    }
}

pub(crate) async fn compare_snapshots(scenario: &str) {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write(scenario, folder.path());
    let table = open(written["metadata"].as_str().unwrap()).await;
    for snapshot in written["snapshots"].as_array().unwrap() {
        let id = snapshot["snapshot_id"].as_i64().unwrap();
        let mut expected = snapshot["rows"].as_array().unwrap().clone();
        for row in &mut expected {
            // Rows from before an upgrade have no lineage; Java forgets that in Avro files, for the one column.
            if row.get("_row_id").is_some_and(Value::is_null) {
                row["_last_updated_sequence_number"] = Value::Null;
            }
        }
        let expected = rows::sorted(expected);
        let context = session(LakelockTableProvider::try_new_at(table.clone(), id).unwrap());
        let found = rows::with_uuids(rows::of(query(&context, ALL).await).await, &["uid"]);
        rows::assert_same(&found, &expected, &format!("{scenario}, snapshot {id}"));
    }
}

/// Pruning and filters inside the reader must not change what a filter finds, whatever became of the column since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_find_what_they_find_without_pruning() {
    for scenario in [
        "types",
        "evolved",
        "partition-evolved",
        "partitioned-hour",
        "partitioned-truncate",
        "deletes-dv-large",
        "deletes-equality-dropped",
        "avro-types",
        "avro-partitioned-truncate",
        "mixed-evolved",
        "mixed-deletes-equality-dropped",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let table = open(written["metadata"].as_str().unwrap()).await;
        for pushdown in [false, true] {
            compare_filters(&table, scenario, pushdown).await;
        }
    }
}

async fn compare_filters(table: &Table, scenario: &str, pushdown: bool) {
    let config = SessionConfig::new().set_bool("datafusion.execution.parquet.pushdown_filters", pushdown);
    let context = SessionContext::new_with_config(config);
    let provider = LakelockTableProvider::try_new(table.clone()).unwrap().with_metadata_columns();
    context.register_table("t", Arc::new(provider)).unwrap();
    let pruned = context.table("t").await.unwrap();
    // The same rows in memory, where nothing is pruned.
    let batches = pruned.clone().collect().await.unwrap();
    let all = concat_batches(&batches[0].schema(), &batches).unwrap();
    let memory = context.read_batch(all.clone()).unwrap();
    for (field, values) in all.schema().fields().iter().zip(all.columns()) {
        if field.data_type().is_nested() {
            continue;
        }
        let column = || Expr::Column(Column::from_name(field.name()));
        let mut filters = vec![column().is_null(), column().is_not_null()];
        for row in [1, values.len() / 2] {
            let value = || lit(ScalarValue::try_from_array(values, row).unwrap());
            filters.extend([column().eq(value()), column().lt(value()), column().gt_eq(value())]);
        }
        for filter in filters {
            let what = format!("{scenario}, pushdown {pushdown}: {filter}");
            let matching = |of: &DataFrame| of.clone().filter(filter.clone()).unwrap().select_columns(&["_row_id"]);
            let (found, expected) = (matching(&pruned).unwrap(), matching(&memory).unwrap());
            rows::assert_same(&rows::of(found).await, &rows::of(expected).await, &what);
        }
    }
}

/// A column that cannot be read is an error only when it is asked for, and stays in the metadata as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn columns_of_types_that_are_not_read_stand_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("opaque-types", folder.path());
    let metadata = written["metadata"].as_str().unwrap();
    let table = open(metadata).await;
    let context = session(LakelockTableProvider::try_new(table.clone()).unwrap());
    let mut expected = written["snapshots"].as_array().unwrap().last().unwrap()["rows"].as_array().unwrap().clone();
    for row in &mut expected {
        row.as_object_mut().unwrap().remove("odd");
    }
    let text = "select id, name, nothing, \"inner\", _row_id, _last_updated_sequence_number from t where id >= 0";
    rows::assert_same(&rows::of(query(&context, text).await).await, &rows::sorted(expected), text);
    assert_eq!(rows::of(query(&context, "select count(*) as n from t").await).await[0]["n"], Value::from(30));
    for (column, r#type) in [("odd", "variant"), ("shape", "geometry"), ("place", "geography"), ("*", "variant")] {
        let error = query(&context, &format!("select {column} from t")).await.collect().await.unwrap_err();
        let (kind, text) = failure(&error);
        assert_eq!(kind, ErrorKind::Unsupported, "{text}");
        assert!(text.contains(r#type), "{text}");
    }
    let schemas = |document: &TableDocument| {
        let json: Value = serde_json::from_slice(&document.to_json()).unwrap();
        json["schemas"].to_string()
    };
    let update = TableUpdate::SetProperties { updates: HashMap::from([("a".to_owned(), "b".to_owned())]) };
    let changed = table.document().apply(&[update], metadata).unwrap();
    assert_eq!(schemas(&changed), schemas(table.document()));
    assert!(schemas(&changed).contains("geometry(srid:3857)"));
    let error = DataFileWriter::new(&table, WriteOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let schema = table.metadata().current_schema().as_ref().clone();
    let error = table.document().apply(&[TableUpdate::AddSchema { schema }], metadata).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

/// Java encrypts tables of version 2 too, if they get their key id late. They are read, and not changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_encrypted_table_of_version_2_is_read_only() {
    for scenario in ["deletes-format-2", "avro-deletes-format-2"] {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let metadata = written["metadata"].as_str().unwrap();
        let table = open(metadata).await;
        for snapshot in written["snapshots"].as_array().unwrap() {
            let id = snapshot["snapshot_id"].as_i64().unwrap();
            let expected = rows::sorted(snapshot["rows"].as_array().unwrap().clone());
            let context = session(LakelockTableProvider::try_new_at(table.clone(), id).unwrap());
            let found = rows::of(query(&context, "select * from t").await).await;
            rows::assert_same(&found, &expected, &format!("{scenario}, snapshot {id}"));
        }
        for update in [
            TableUpdate::SetProperties { updates: HashMap::from([("a".to_owned(), "b".to_owned())]) },
            TableUpdate::UpgradeFormatVersion { format_version: FormatVersion::V3 },
        ] {
            let error = table.document().apply(&[update], metadata).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
    }
}

/// The row groups that no bloom filter keeps, as DataFusion counts them, and the ids that were found.
async fn pruned_by_bloom_filters(context: &SessionContext, text: &str) -> (usize, Vec<Value>) {
    let plan = query(context, text).await.create_physical_plan().await.unwrap();
    let batches = collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
    let (mut pruned, mut plans) = (0, vec![plan]);
    while let Some(plan) = plans.pop() {
        plans.extend(plan.children().into_iter().cloned());
        for metric in plan.metrics().iter().flat_map(MetricsSet::iter) {
            if let MetricValue::PruningMetrics { name, pruning_metrics } = metric.value()
                && name == "row_groups_pruned_bloom_filter"
            {
                pruned += pruning_metrics.pruned();
            }
        }
    }
    (pruned, rows::of_batches(&batches))
}

/// Ids are multiples of 3, so that others lie between the bounds of every row group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bloom_filters_leave_out_row_groups() {
    for scenario in ["bloom-filters", "bloom-filters-key24"] {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let context =
            session(LakelockTableProvider::try_new(open(written["metadata"].as_str().unwrap()).await).unwrap());
        let mut pruned = 0;
        for id in 1000..1030 {
            for filter in [format!("id = {id}"), format!("name = 'name {id}'")] {
                let (by_one, found) =
                    pruned_by_bloom_filters(&context, &format!("select id from t where {filter}")).await;
                let expected = if id % 3 == 0 { vec![serde_json::json!({ "id": id })] } else { Vec::new() };
                assert_eq!(found, expected, "{scenario}: {filter}");
                pruned += by_one;
            }
        }
        // Five row groups in 60 queries, a third of which have a row in one of them.
        assert!(pruned > 200, "{scenario}: {pruned} row groups were left out");
    }
}

/// Files are taken away one after the other: a query that still works did not open them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_files_that_may_match_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("partitioned-day", folder.path());
    let metadata = written["metadata"].as_str().unwrap();
    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    // Of years that the engine's own arithmetic can handle.
    let text = "select id, at_utc, _file from t where at_utc > '1900-01-01' and at_utc < '2200-01-01'";
    let all = rows::of(query(&context, text).await).await;
    let day = |row: &Value| row["at_utc"].as_str().unwrap()[..10].to_owned();
    let one = day(&all[0]);
    let expected = all.iter().filter(|row| day(row) == one).count();
    for row in all.iter().filter(|row| day(row) != one) {
        // Several rows share a file.
        let _ = std::fs::remove_file(row["_file"].as_str().unwrap());
    }

    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let of_day = format!(
        "select id from t where at_utc >= '{one}T00:00:00Z' and at_utc < timestamp '{one}T00:00:00Z' + interval '1 day'"
    );
    assert_eq!(rows::of(query(&context, &of_day).await).await.len(), expected);
    let (kind, text) = failure(&query(&context, "select id from t").await.collect().await.unwrap_err());
    assert_eq!(kind, ErrorKind::NotFound, "{text}");

    std::fs::remove_dir_all(folder.path().join("data")).unwrap();
    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let count = rows::of(query(&context, "select count(*) as n from t").await).await;
    let rows_written = written["snapshots"].as_array().unwrap().last().unwrap()["rows"].as_array().unwrap().len();
    assert_eq!(count[0]["n"], Value::from(rows_written));
}
