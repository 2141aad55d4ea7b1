//! Metadata columns in SQL.

use lakelock_datafusion::{LakelockTableProvider, sql};

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
