//! The rows of queries as JSON.

use datafusion::prelude::DataFrame;
pub(crate) use lakelock_interop::rows::{assert_same, compare, of_batches, sorted, with_uuids};
use serde_json::Value;

/// The rows of a query, sorted.
pub(crate) async fn of(query: DataFrame) -> Vec<Value> {
    sorted(of_batches(&query.collect().await.unwrap()))
}
