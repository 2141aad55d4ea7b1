//! Metadata columns in SQL.

use lakelock_datafusion::{LakelockTableProvider, sql};
use lakelock_iceberg::scan::TableScan;

use crate::tables::{open, query, session};
use crate::{judge, rows};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_columns_are_found_by_name_and_left_out_of_stars() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("unpartitioned", folder.path());
    let table = open(written["metadata"].as_str().unwrap()).await;
    let context = session(LakelockTableProvider::try_new(table).unwrap());
    let columns = |text: &'static str| {
        let context = context.clone();
        async move {
            let query = query(&context, text).await;
            let names = query.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
            query.collect().await.unwrap_or_else(|e| panic!("{text}: {e}"));
            names
        }
    };
    let cases: [(&str, &[&str]); 14] = [
        ("select * from t", &["id", "name"]),
        ("select _row_id, * from t", &["_row_id", "id", "name"]),
        ("select * from t where _row_id < 3", &["id", "name"]),
        ("select t.*, _pos from t", &["id", "name", "_pos"]),
        ("select x.*, x._file from t as x", &["id", "name", "_file"]),
        ("select * from (select id, _pos from t)", &["id", "_pos"]),
        ("with c as (select * from t where _pos = 0) select * from c", &["id", "name"]),
        ("with t as (select id, _pos as p from t) select * from t", &["id", "p"]),
        ("select * exclude (name) from t order by _row_id desc", &["id"]),
        ("select a.*, b._row_id from t a join t b on a._row_id = b._row_id", &["id", "name", "_row_id"]),
        ("select * from t a join t b on a._row_id = b._row_id", &["id", "name", "id", "name"]),
        ("select * from t where _row_id in (select _row_id from t)", &["id", "name"]),
        ("select id from t union all select _row_id from t", &["id"]),
        (
            "select _last_updated_sequence_number, count(*) as n from t group by 1",
            &["_last_updated_sequence_number", "n"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(columns(text).await, expected, "{text}");
    }
    for refused in ["select _pos from t natural join t as u", "select *, t._pos from t join t as u using (id)"] {
        assert!(sql(&context, refused).await.is_err(), "{refused}");
    }

    // Positions and ids agree, file by file.
    let text = "select min(_row_id - _pos) as low, max(_row_id - _pos) as high from t group by _file";
    for row in rows::of(query(&context, text).await).await {
        assert_eq!(row["low"], row["high"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_tell_their_spec_and_their_partition() {
    for scenario in ["partition-evolved", "mixed-partitioned-identity", "unpartitioned"] {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let table = open(written["metadata"].as_str().unwrap()).await;
        let plan = TableScan::new(&table).plan().await.unwrap();
        let context = session(LakelockTableProvider::try_new(table).unwrap());
        let found = rows::of(query(&context, "select *, _file, _spec_id, _partition from t").await).await;
        for row in &found {
            let task = plan.tasks.iter().find(|task| task.location() == row["_file"]).unwrap();
            assert_eq!(row["_spec_id"], task.spec().spec_id(), "{row}");
            let partition = &row["_partition"];
            match scenario {
                "unpartitioned" => assert!(partition.is_null(), "{row}"),
                "partition-evolved" => {
                    let present = |name: &str| usize::from(!partition[name].is_null());
                    let fields = present("id_bucket") + present("day_month");
                    let expected = task.data_file().partition.iter().flatten().count();
                    assert_eq!(fields, expected, "{row}");
                }
                _ => assert_eq!(partition["name"], row["name"], "{row}"),
            }
        }
        let specs = rows::of(query(&context, "select distinct _spec_id from t order by 1").await).await;
        assert_eq!(specs.len(), if scenario == "partition-evolved" { 3 } else { 1 });
    }
}
