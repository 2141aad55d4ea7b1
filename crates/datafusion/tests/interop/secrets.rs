//! Keys are in no plan that a person can see.

use base64::Engine;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::physical_plan::displayable;
use lakelock_datafusion::LakelockTableProvider;
use lakelock_iceberg::scan::TableScan;

use crate::judge;
use crate::tables::{open, query, session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_plan_shows_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("unpartitioned", folder.path());
    let table = open(written["metadata"].as_str().unwrap()).await;
    let tasks = TableScan::new(&table).plan().await.unwrap().tasks;
    let keys: Vec<Vec<u8>> = tasks.iter().map(|t| t.key().unwrap().encryption_key().expose_secret().to_vec()).collect();
    assert!(!keys.is_empty());

    let context = session(LakelockTableProvider::try_new(table.clone()).unwrap());
    let text = "select count(distinct name) from t where id > 1";
    let mut shown = Vec::new();
    for explain in ["explain verbose", "explain analyze", "explain format tree"] {
        let batches = query(&context, &format!("{explain} {text}")).await.collect().await.unwrap();
        shown.push(pretty_format_batches(&batches).unwrap().to_string());
    }
    let frame = query(&context, text).await;
    shown.push(format!("{:?} {:#?}", frame.logical_plan(), frame));
    let plan = frame.create_physical_plan().await.unwrap();
    shown.push(format!("{plan:?} {plan:#?} {}", displayable(plan.as_ref()).indent(true)));
    shown.push(format!("{tasks:?} {tasks:#?} {table:?}"));

    for (shown, key) in shown.iter().flat_map(|shown| keys.iter().map(move |key| (shown, key))) {
        let forms = [
            hex::encode(key),
            hex::encode_upper(key),
            base64::engine::general_purpose::STANDARD.encode(key),
            // As a list of numbers, on one line or on many.
            format!("{key:?}"),
            format!("{key:#?}"),
            key[..4].iter().map(u8::to_string).collect::<Vec<_>>().join(", "),
            String::from_utf8_lossy(key).into_owned(),
        ];
        for form in forms {
            assert!(!shown.contains(&form), "{form} is in {shown}");
        }
    }
}
